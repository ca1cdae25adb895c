"""A small tree whose second part fails until somebody says something, and what its solver was called for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from langgraph_recursive.graph import RecursiveSolver, SolvePolicy, create_recursive_solver
from langgraph_recursive.nodes import accept, reject
from langgraph_recursive.state import Task, Verdict

__all__ = ("PARTS", "Work", "attempt_of", "config_of")

PARTS = ["first", "second", "third"]


def config_of(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def attempt_of(result: Any, attempt_id: str) -> Any:
    """One of the root's attempts."""
    return next(attempt for attempt in result["attempts"] if attempt.id == attempt_id)


class Work:
    """A solver over `job`, which splits, and everything else, which does not.

    Attributes:
        calls: Ids of the attempts that the solver was called with.
        tasks: The attempts themselves.
        bad: Whether an answer to this attempt is rejected.
    """

    def __init__(self, bad: Callable[[Task], bool] = lambda task: False) -> None:
        self.calls: list[str] = []
        self.tasks: list[Task] = []
        self.bad = bad
        self._lock = threading.Lock()

    def solver(self, saver: Any, *, parts: list[Any] | None = None, **options: Any) -> RecursiveSolver:
        policy = {"interrupt_on_halt": True, **options.pop("policy", {})}
        given: dict[str, Any] = {
            "solver": self.solve,
            "verifiers": [self.check],
            "decomposer": lambda task, depth: list(parts or PARTS) if task.brief.objective == "job" else [],
            "aggregator": lambda task, results: "+".join(results),
            "policy": SolvePolicy(**policy),
            "checkpointer": saver,
            **options,
        }
        return create_recursive_solver(**given)

    def solve(self, task: Task) -> str:
        with self._lock:
            self.calls.append(task.id)
            self.tasks.append(task)
        return f"bad {task.brief.objective}" if self.bad(task) else task.brief.objective

    def check(self, task: Task, result: str) -> Verdict:
        return reject("it is bad") if result.startswith("bad") else accept()
