"""A small tree whose parts fail in every way there is, and a person who decides after each halt."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from langgraph.types import Command

from langgraph_recursive.graph import RecursiveSolver, SolvePolicy, acontinue_from_halt, continue_from_halt
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.graph.history import TaskRecord, records, spent_by_run
from langgraph_recursive.state import InvalidInputError, SubTask, Task, Usage, Verdict
from langgraph_recursive.state.verdict import accept, reject

__all__ = ("CONFIG", "Leaf", "Story", "World")

CONFIG: Any = {"configurable": {"thread_id": "1"}}
_LAST = 12


@dataclass(frozen=True)
class Leaf:
    """A part of the job.

    Attributes:
        trouble: How it fails: `rejected` always alike, `changing` in other words each time, `raises`, `refused` by a
            precheck, `erring` validator; or `fine`.
        until: It fails in its attempts up to this number; a refused one until its spec is edited.
        needs: Positions of the parts that it needs.
    """

    trouble: str = "fine"
    until: int = 0
    needs: tuple[int, ...] = ()


@dataclass
class World:
    """A solver over a job of some parts, and what it was called for.

    Attributes:
        leaves: The parts.
        solved: How often each part was solved, by objective.
        passed: Attempts that the verifier accepted.
        after: Parts that were solved again after the verifier had accepted them.
    """

    leaves: list[Leaf]
    solved: Counter[str] = field(default_factory=Counter)
    passed: set[str] = field(default_factory=set)
    after: list[str] = field(default_factory=list)
    accepted: set[str] = field(default_factory=set)
    lock: Any = field(default_factory=threading.Lock)

    def _leaf(self, task: Task) -> Leaf:
        name, _, number = task.brief.objective.partition(" ")
        return self.leaves[int(number)] if name == "part" else Leaf()

    def _fails(self, task: Task, trouble: str) -> bool:
        leaf = self._leaf(task)
        return leaf.trouble == trouble and task.attempt <= leaf.until

    def plan(self, task: Task, depth: int) -> list[SubTask]:
        if task.brief.objective != "job":
            return []
        return [SubTask(f"part {number}", leaf.needs) for number, leaf in enumerate(self.leaves)]

    def precheck(self, task: Task) -> Verdict:
        leaf = self._leaf(task)
        return reject("edit me") if leaf.trouble == "refused" and "edited" not in task.intent else accept()

    def solve(self, task: Task) -> str:
        with self.lock:
            self.solved[task.brief.objective] += 1
            if task.root_ref in self.accepted:
                self.after.append(task.id)
        if self._fails(task, "raises"):
            raise ValueError(f"attempt {task.attempt} broke")
        return f"<{task.brief.objective}{''.join(entry.text for entry in task.inputs)}>"

    def check(self, task: Task, result: str) -> Verdict:
        if self._fails(task, "erring"):
            raise RuntimeError("the validator broke")
        if self._fails(task, "rejected"):
            return reject("it is bad")
        if self._fails(task, "changing"):
            return reject("it is bad: " + "abcdefghijklmnopqrstuvwxyz"[task.attempt] * 12)
        with self.lock:
            self.passed.add(task.id)
            self.accepted.add(task.root_ref)
        return accept()

    def solver(self, saver: Any, **options: Any) -> RecursiveSolver:
        policy = options.pop("policy", {})
        return create_recursive_solver(
            decomposer=self.plan,
            solver=self.solve,
            aggregator=lambda task, results: "+".join(results),
            verifiers=[self.check],
            prechecks=[self.precheck],
            policy=SolvePolicy(retry=None, **policy),
            checkpointer=saver,
            **options,
        )


class Story:
    """One run with all that a person decides, to its end.

    Args:
        graph: The solver.
        saver: Its saver, with sync methods.
        decides: Makes a decision from the halt's type, and from the number of decisions before it.
        in_async: Whether it runs on an event loop.
    """

    def __init__(self, graph: RecursiveSolver, saver: Any, decides: Callable[[str, int], Any], in_async: bool) -> None:
        self.graph = graph
        self.saver = saver
        self.decides = decides
        self.in_async = in_async
        self.spent = Usage()
        self.given: list[Any] = []
        self.refused = 0

    def told(self) -> dict[str, Any]:
        """Run to the end."""
        result = self._invoke("job")
        for _ in range(4 * _LAST):
            self._saw()
            if "__interrupt__" in result:
                result = self._invoke(Command(resume=dict(self._answers(result["__interrupt__"]))))
            elif result["halt"] is not None and len(self.given) < _LAST:
                decision = self._decision(_cause(result["halt"]).type)
                if decision == "stop":
                    return result
                try:
                    result = self._continue(decision)
                except InvalidInputError:  # there is no answer to accept, or nothing that is raised
                    self.refused += 1
            else:
                return result
        raise AssertionError("it never ends")

    def _answers(self, asked: list[Any]) -> Iterator[tuple[str, Any]]:
        for interrupt in asked:
            yield interrupt.id, self._decision(interrupt.value["halt"]["type"])

    def _decision(self, halt: str) -> Any:
        number = len(self.given)
        decision = self.decides(halt, number) if number < _LAST else {"decision": "accept", "answer": "by hand"}
        self.given.append(decision)
        return decision

    def _saw(self) -> None:
        spent = spent_by_run(self.records()).usage[1]
        for name in ("calls", "llm_calls", "fixes", "tasks"):
            assert getattr(spent, name) >= getattr(self.spent, name), name
        self.spent = spent

    def records(self) -> list[TaskRecord]:
        """The tasks of the thread."""
        return records(self.saver.list(CONFIG))

    def _invoke(self, given: Any) -> dict[str, Any]:
        if self.in_async:
            result: dict[str, Any] = asyncio.run(self.graph.ainvoke(given, CONFIG))
        else:
            result = self.graph.invoke(given, CONFIG)
        return result

    def _continue(self, decision: Any) -> dict[str, Any]:
        if self.in_async:
            return asyncio.run(acontinue_from_halt(self.graph, CONFIG, decision))
        return continue_from_halt(self.graph, CONFIG, decision)


def _cause(halt: Any) -> Any:
    return halt if halt.child is None else _cause(halt.child)
