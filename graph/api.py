"""What the room `graph` offers."""

import importlib
from typing import TYPE_CHECKING, Any

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
from .emitter import EventEmitter
from .front import RecursiveTaskSolver, SolveResult
from .halted import acontinue_from_halt, continue_from_halt
from .live import stop_task
from .rewinding import RewindPoint, arewind, rewind
from .solver import RecursiveSolver
from .tool import solver_tool

if TYPE_CHECKING:
    from .sqlite import open_sqlite
    from .view import (
        TaskTree,
        awatch,
        diff,
        events_to_jsonl,
        explain,
        machine_svg,
        path_of,
        read_events,
        timeline,
        watch,
    )

__all__ = (
    "AgentEvent",
    "AgentResult",
    "Budget",
    "Estimate",
    "EventEmitter",
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
    "TaskTree",
    "TimeoutEvent",
    "acontinue_from_halt",
    "arewind",
    "awatch",
    "continue_from_halt",
    "create_recursive_solver",
    "diff",
    "estimate",
    "events_to_jsonl",
    "explain",
    "machine_svg",
    "open_sqlite",
    "path_of",
    "read_events",
    "rewind",
    "solver_tool",
    "stop_task",
    "timeline",
    "watch",
)


# What only some need is imported only by who uses it: open_sqlite needs the extra `sqlite`.
_LATE = {
    "open_sqlite": "sqlite",
    **dict.fromkeys(
        (
            "TaskTree",
            "awatch",
            "diff",
            "events_to_jsonl",
            "explain",
            "machine_svg",
            "path_of",
            "read_events",
            "timeline",
            "watch",
        ),
        "view",
    ),
}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(importlib.import_module(f"{__package__}.{_LATE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
