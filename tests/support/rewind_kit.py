"""A tree three levels deep with a dependency and a fix, that counts its calls by attempt and role."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.brief import SubTask
from langgraph_recursive.state.ids import root_ref
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import Verdict, accept, reject

__all__ = ("ANSWER", "CONFIG", "PLANS", "TREE", "Work", "task_ids")

CONFIG: Any = {"configurable": {"thread_id": "rewind"}}

PLANS: dict[str, list[Any]] = {
    "job": ["left", SubTask("right", depends_on=[0]), "other"],
    "left": ["left one", SubTask("left two", depends_on=[0])],
    "left one": ["leaf a", "leaf b"],
    "other": ["other one", "other two"],
}
"""`t.1` is left, `t.1.1.2` is leaf b; right needs left, left two needs left one."""

TREE = ("t", "t.1", "t.1.1", "t.1.1.1", "t.1.1.2", "t.1.2", "t.2", "t.3", "t.3.1", "t.3.2")
"""Every task of the tree, by its first attempt."""

_ONE = "(leaf a+leaf b)"
_LEFT = f"({_ONE}+left two<{_ONE})"
ANSWER = f"({_LEFT}+right<{_LEFT}+(other one+other two))"
"""What the whole tree makes; what a task needed stands behind it."""


class Work:
    """A solver over the tree, and what its components were called for.

    The first answer of leaf b is rejected, so that there is a fix.
    """

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.breaks: Callable[[Task, str], None] = lambda task, role: None
        self.rejects: Callable[[Task], bool] = lambda task: task.id == "t.1.1.2"
        self._lock = threading.Lock()

    def count(self, role: str, task: Task) -> None:
        self.breaks(task, role)
        with self._lock:
            self.calls[task.id, role] += 1

    def decompose(self, task: Task) -> list[Any]:
        self.count("decompose", task)
        return PLANS.get(task.brief.objective, [])

    def solve(self, task: Task) -> str:
        self.count("solve", task)
        needed = "".join(f"<{entry.text}" for entry in task.inputs)
        return task.brief.objective + needed

    def combine(self, task: Task, results: list[str]) -> str:
        self.count("aggregate", task)
        return f"({'+'.join(results)})"

    def check(self, task: Task) -> Verdict:
        self.count("verify", task)
        return reject("not yet") if self.rejects(task) else accept("fine")

    def is_leaf(self, task: Task) -> bool:
        self.count("atomize", task)
        return task.brief.objective not in PLANS

    def solver(self, saver: Any, **options: Any) -> Any:
        policy = {"max_depth": 4, **options.pop("policy", {})}
        parts: dict[str, Any] = {
            "atomizer": self.is_leaf,
            "decomposer": self.decompose,
            "solver": self.solve,
            "aggregator": self.combine,
            "verifiers": [self.check],
            "checkpointer": saver,
        }
        return create_recursive_solver(**{**parts, **options}, policy=SolvePolicy(**policy))

    def slow(self, seconds: float) -> dict[str, Any]:
        """An async solver in place of the other."""

        async def solve(task: Task) -> str:
            await asyncio.sleep(seconds)
            return self.solve(task)

        return {"solver": solve}

    @property
    def chains(self) -> set[str]:
        """The tasks that were called for."""
        return {root_ref(task_id) for task_id, _ in self.calls}


def task_ids(result: dict[str, Any]) -> set[str]:
    """Ids of all attempts that left a trace."""
    return {trace.task_id for trace in result["traces"]}
