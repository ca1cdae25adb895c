"""RecursiveTaskSolver: the engine behind the interface of the recursive-solver document, to the letter.

Children run strictly in order, the first failure ends the branch, and a combined answer is verified once. Added are
only what rules.md 24 allows: feedback reaches the retry, the last rejection is traced, finished parts are kept.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import Field

from langgraph_recursive.nodes import components as roles
from langgraph_recursive.nodes.combine import SolvingAggregator
from langgraph_recursive.nodes.components import Component, Components
from langgraph_recursive.nodes.parts.atomizers import depth_based
from langgraph_recursive.nodes.parts.verifiers import always_accept
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state._model import Data
from langgraph_recursive.state.brief import RootTaskAnchor, TaskBrief
from langgraph_recursive.state.errors import MissingSolverError
from langgraph_recursive.state.task import Attempt, Halt, Partial
from langgraph_recursive.state.trace import SolveTrace
from langgraph_recursive.state.usage import Usage

from .builder import compiled_solver
from .solver import RecursiveSolver

__all__ = ("RecursiveTaskSolver", "SolveResult")

_LIFTED = 1_000_000
_DEFAULT_DEPTH = 3


class SolveResult(Data):
    """What a solve gives (recursive-task-solver, "Result and traces").

    Attributes:
        success: Whether there is an accepted answer.
        verified: Whether something real checked it.
        output: The answer; None when the task failed.
        partial: What was finished all the same.
        traces: What happened, in order.
        duration_ms: Wall time in milliseconds.
        halt: Why there is no accepted answer.
        usage: Calls, tokens, tasks and fixes.
        attempts: The root's attempts.
    """

    success: bool
    verified: bool = False
    output: str | None = None
    partial: list[Partial] = Field(default_factory=list)
    traces: list[SolveTrace] = Field(default_factory=list)
    duration_ms: int = 0
    halt: Halt | None = None
    usage: Usage = Field(default_factory=Usage)
    attempts: list[Attempt] = Field(default_factory=list)


class RecursiveTaskSolver:
    """Splits a task, solves the sub-tasks in order, combines the answers and checks each of them.

    Args:
        solver: `(task) -> str`: answers atomic tasks and combines sub-results.
        decomposer: `(task, depth) -> list[str]`: splits a task; an empty list solves it directly.
        atomizer: `(task, depth) -> bool`: whether to solve directly; `depth_based(3)` by default.
        verifier: `(task, result, attempt) -> Verdict | bool`; `always_accept` by default.
        max_depth: Depth at which every task is solved directly.
        max_retries: Attempts per atomic task, the first included.
        checkpointer: LangGraph saver; needed to resume.
        name: Name of the graph.

    Raises:
        MissingSolverError: There is no solver or no decomposer.
        InvalidPolicyError: A limit is out of bounds.
        ComponentError: A part cannot be called as its role asks.
    """

    def __init__(
        self,
        *,
        solver: Any = None,
        decomposer: Any = None,
        atomizer: Any = None,
        verifier: Any = None,
        max_depth: int = 5,
        max_retries: int = 2,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        name: str = "recursive_task_solver",
    ) -> None:
        for role, given in (("solver", solver), ("decomposer", decomposer)):
            if given is None:
                raise MissingSolverError(f"RecursiveTaskSolver needs a {role}: {role}=...", field=role)
        solving = Component(roles.SOLVER, solver)
        parts = Components(
            solver=solving,
            aggregator=Component(roles.COMBINER, SolvingAggregator(solving)),
            atomizer=Component(roles.ATOMIZER, atomizer if atomizer is not None else depth_based(_DEFAULT_DEPTH)),
            decomposer=Component(roles.DECOMPOSER, decomposer),
            verifiers=[Component(roles.LENIENT_VERIFIER, verifier if verifier is not None else always_accept)],
            closing_aggregate=True,
        )
        policy = SolvePolicy(
            max_depth=max_depth,
            max_attempts=max_retries,
            max_children=_LIFTED,
            max_fixes_total=_LIFTED,
            stall_window=0,
            sequential_children=True,
        )
        self.graph: RecursiveSolver = compiled_solver(parts, policy, checkpointer=checkpointer, store=None, name=name)

    def solve(self, task: str | TaskBrief | RootTaskAnchor, config: RunnableConfig | None = None) -> SolveResult:
        """Solve a task.

        Args:
            task: What is to be done.
            config: LangGraph config; with a checkpointer it names the thread.

        Raises:
            RecursiveSolverError: The input or a part is not fit to run.
        """
        started = time.monotonic()
        return _result(self.graph.invoke({"task": task}, config), started)

    async def asolve(self, task: str | TaskBrief | RootTaskAnchor, config: RunnableConfig | None = None) -> SolveResult:
        """Solve a task on the event loop; see `solve`."""
        started = time.monotonic()
        return _result(await self.graph.ainvoke({"task": task}, config), started)


def _result(output: Mapping[str, Any], started: float) -> SolveResult:
    fields = {name: output[name] for name in SolveResult.model_fields if name in output}
    return SolveResult(**fields, duration_ms=round((time.monotonic() - started) * 1000))
