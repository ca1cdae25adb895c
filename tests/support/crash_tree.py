"""A small tree that has everything a resume can get wrong: dependencies, levels, fixes and a re-aggregation.

t          split in four; its combined answer is rejected once
t.1        a leaf
t.2        a leaf whose first answer is rejected
t.3        needs t.1 and t.2
t.4        split again
t.4.1      a leaf
t.4.2      needs t.4.1
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from call_log import CallLog
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.components import inline
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.brief import SubTask
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import Verdict, accept, reject

TASK = "write the yearly report"

PLANS: dict[str, list[tuple[str, list[int]]]] = {
    TASK: [
        ("collect the sales", []),
        ("collect the costs", []),
        ("compare sales and costs", [0, 1]),
        ("describe the team", []),
    ],
    "describe the team": [("list the people", []), ("draw the chart", [0])],
}

EVIDENCE = "the costs lack March"


@inline
def is_atomic(task: Task) -> bool:
    return task.brief.objective not in PLANS


class Parts:
    """The tree's components, sync and async; each logs its calls."""

    def __init__(self, log: CallLog, *, seconds: float = 0.001) -> None:
        self.log = log
        self.seconds = seconds

    def decompose(self, task: Task) -> list[SubTask]:
        with self.log.call(task, "decomposer"):
            time.sleep(self.seconds)
            return [SubTask(text, needs) for text, needs in PLANS[task.brief.objective]]

    def solve(self, task: Task) -> str:
        with self.log.call(task, "solver"):
            time.sleep(self.seconds)
            return answer(task)

    async def asolve(self, task: Task) -> str:
        with self.log.call(task, "solver"):
            await asyncio.sleep(self.seconds)
            return answer(task)

    def combine(self, task: Task, results: Sequence[Answer]) -> str:
        with self.log.call(task, "aggregator"):
            time.sleep(self.seconds)
            return f"[{' | '.join(results)}] as combined in attempt {task.attempt}"

    def check(self, task: Task, result: Answer, attempt: int) -> Verdict:
        with self.log.call(task, "check"):
            time.sleep(self.seconds)
            return judged(task, attempt)

    async def acheck(self, task: Task, result: Answer, attempt: int) -> Verdict:
        with self.log.call(task, "check"):
            await asyncio.sleep(self.seconds)
            return judged(task, attempt)

    def style(self, task: Task, result: Answer) -> bool:
        with self.log.call(task, "style"):
            time.sleep(self.seconds)
            return bool(result)


def answer(task: Task) -> str:
    known = ", ".join(item.text for item in task.inputs)
    repaired = "; with March" if EVIDENCE in task.spec else ""
    return f"done: {task.brief.objective}({known}){repaired}"


def judged(task: Task, attempt: int) -> Verdict:
    if attempt > 1:
        return accept("better")
    if task.brief.objective == "collect the costs":
        return reject(EVIDENCE)
    if task.parent_id is None:
        return reject("the parts do not follow each other")
    return accept("good")


def crash_solver(log: CallLog, saver: BaseCheckpointSaver[Any] | None, *, in_async: bool = False) -> Any:
    parts = Parts(log)
    return create_recursive_solver(
        atomizer=is_atomic,
        decomposer=parts.decompose,
        solver=parts.asolve if in_async else parts.solve,
        aggregator=parts.combine,
        verifiers=[parts.acheck if in_async else parts.check, parts.style],
        policy=SolvePolicy(max_concurrency=3),
        checkpointer=saver,
    )
