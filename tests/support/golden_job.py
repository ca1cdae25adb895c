"""The job of the golden checkpoint: the tree of `crash_tree`, which one can stop or have ask.

Never change what it does: the checkpoint in `tests/golden` was made with it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import interrupt

from crash_tree import PLANS, TASK, answer, is_atomic, judged
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.brief import SubTask
from langgraph_recursive.state.errors import ComponentError
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import Verdict

__all__ = ("ASKING", "RECOVERING", "TASK", "GoldenJob")

RECOVERING: RunnableConfig = {"configurable": {"thread_id": "recovering"}}
ASKING: RunnableConfig = {"configurable": {"thread_id": "asking"}}


class GoldenJob:
    """The parts.

    Args:
        stop_at: Id of the task whose solver stops the run.
        ask_at: Id of the task whose solver asks a person.
    """

    def __init__(self, *, stop_at: str = "", ask_at: str = "") -> None:
        self.stop_at = stop_at
        self.ask_at = ask_at
        self.calls: Counter[str] = Counter()
        self._lock = threading.Lock()

    def _count(self, role: str, task: Task) -> None:
        with self._lock:
            self.calls[f"{role} {task.id}"] += 1

    def decompose(self, task: Task) -> list[SubTask]:
        self._count("decompose", task)
        return [SubTask(text, needs) for text, needs in PLANS[task.brief.objective]]

    def solve(self, task: Task) -> str:
        self._count("solve", task)
        if task.id == self.stop_at:
            raise ComponentError(f"stopped at {task.id}")
        asked = f" ({interrupt('which colour?')})" if task.id == self.ask_at else ""
        return answer(task) + asked

    def combine(self, task: Task, results: Sequence[Answer]) -> str:
        self._count("combine", task)
        return f"[{' | '.join(results)}]"

    def check(self, task: Task, result: Answer, attempt: int) -> Verdict:
        self._count("check", task)
        return judged(task, attempt)

    def style(self, task: Task, result: Answer) -> bool:
        self._count("style", task)
        return bool(result)

    def solver(self, saver: BaseCheckpointSaver[Any]) -> Any:
        return create_recursive_solver(
            atomizer=is_atomic,
            decomposer=self.decompose,
            solver=self.solve,
            aggregator=self.combine,
            verifiers=[self.check, self.style],
            policy=SolvePolicy(max_concurrency=3),
            checkpointer=saver,
        )
