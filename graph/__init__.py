"""How the nodes are wired and run: the solver, its front, its policy, its saver."""

from typing import TYPE_CHECKING, Any

if __name__ != "langgraph_recursive.graph":
    raise ImportError("import this room as langgraph_recursive.graph")

from langgraph_recursive.nodes.estimate import Estimate, estimate
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.budget import Budget
from langgraph_recursive.state.goal_state import (
    AgentEvent,
    AgentResult,
    GoalAchievedEvent,
    GoalExhaustedEvent,
    GoalFailedEvent,
    GoalState,
    GoalSubmittedEvent,
    IterationCompletedEvent,
    TimeoutEvent,
)

from .agent import SimpleRecursiveAgent
from .builder import create_recursive_solver
from .front import RecursiveTaskSolver, SolveResult
from .live import stop_task
from .rewind import RewindPoint, arewind, rewind
from .solver import RecursiveSolver
from .tool import solver_tool

if TYPE_CHECKING:
    from .sqlite import open_sqlite

__all__ = (
    "AgentEvent",
    "AgentResult",
    "Budget",
    "Estimate",
    "GoalAchievedEvent",
    "GoalExhaustedEvent",
    "GoalFailedEvent",
    "GoalState",
    "GoalSubmittedEvent",
    "IterationCompletedEvent",
    "RecursiveSolver",
    "RecursiveTaskSolver",
    "RewindPoint",
    "SimpleRecursiveAgent",
    "SolvePolicy",
    "SolveResult",
    "TimeoutEvent",
    "arewind",
    "create_recursive_solver",
    "estimate",
    "open_sqlite",
    "rewind",
    "solver_tool",
    "stop_task",
)


def __getattr__(name: str) -> Any:
    # open_sqlite needs the extra `sqlite`, so it is imported only by who uses it.
    if name == "open_sqlite":
        from .sqlite import open_sqlite

        return open_sqlite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
