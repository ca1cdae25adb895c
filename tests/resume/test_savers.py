"""The same small suite on every saver, from a fresh solver each time: nothing may live outside the saver."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, interrupt

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.errors import ComponentError
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import Verdict, accept, reject
from saver_kinds import ALL_KINDS, SaverKind

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}

Build = Callable[..., Any]


class Store:
    """One saver of one kind, opened anew for every run."""

    def __init__(self, kind: SaverKind, location: str, in_async: bool) -> None:
        self.kind = kind
        self.location = location
        self.in_async = in_async

    def run(self, build: Build, given: Any) -> dict[str, Any]:
        return asyncio.run(self._arun(build, given)) if self.in_async else self._run(build, given)

    def _run(self, build: Build, given: Any) -> dict[str, Any]:
        with self.kind.open_sync(self.location) as saver:
            return dict(build(checkpointer=saver).invoke(given, CONFIG))

    async def _arun(self, build: Build, given: Any) -> dict[str, Any]:
        async with self.kind.open_async(self.location) as saver:
            return dict(await build(checkpointer=saver).ainvoke(given, CONFIG))


@pytest.fixture(params=[False, True], ids=["invoke", "ainvoke"])
def in_async(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=ALL_KINDS)
def store(request: pytest.FixtureRequest, in_async: bool, tmp_path: Path) -> Store:
    kind: SaverKind = request.param
    return Store(kind, kind.new_location(tmp_path), in_async)


class Job:
    """Splits "job" in two; counts calls by role and objective."""

    def __init__(self, check: Callable[[Task], Verdict] = lambda task: accept("fine")) -> None:
        self.calls: Counter[str] = Counter()
        self.judge = check
        self.ask = False
        self.break_at = ""

    def decompose(self, task: Task) -> list[str]:
        self.calls[f"decompose {task.id}"] += 1
        return ["left", "right"] if task.depth == 0 else []

    def solve(self, task: Task) -> str:
        self.calls[f"solve {task.id}"] += 1
        if self.ask and task.id == "t.2":
            return f"asked: {interrupt('how?')}"
        if task.id == self.break_at:
            raise ComponentError("the machinery broke")
        return f"did {task.brief.objective} in attempt {task.attempt}"

    def combine(self, task: Task, results: list[str]) -> str:
        self.calls[f"combine {task.id}"] += 1
        return " and ".join(results)

    def check(self, task: Task) -> Verdict:
        self.calls[f"check {task.id}"] += 1
        return self.judge(task)

    def build(self, **kwargs: Any) -> Any:
        return create_recursive_solver(
            decomposer=self.decompose,
            solver=self.solve,
            aggregator=self.combine,
            verifiers=self.check,
            policy=SolvePolicy(max_depth=1),
            **kwargs,
        )


def test_solves(store: Store) -> None:
    result = store.run(Job().build, "job")
    assert result["output"] == "did left in attempt 1 and did right in attempt 1"
    assert result["success"]
    assert result["verified"]
    assert result["usage"].calls == 7
    assert result["usage"].tasks == 3


def test_fails_and_recovers(store: Store) -> None:
    def judge(task: Task) -> Verdict:
        return reject(f"not yet {task.attempt}") if task.id in ("t.1", "t.1_fix_1", "t") else accept()

    job = Job(judge)
    result = store.run(job.build, "job")
    assert result["output"] == "did left in attempt 3 and did right in attempt 1"
    assert [attempt.id for attempt in result["attempts"]] == ["t", "t_fix_1"]
    assert result["attempts"][0].failures[0].justification == "not yet 1"
    assert result["usage"].fixes == 3
    assert job.calls["combine t"] == job.calls["combine t_fix_1"] == 1


def test_asks_and_is_answered(store: Store) -> None:
    job = Job()
    job.ask = True
    [question] = store.run(job.build, "job")["__interrupt__"]
    assert question.value == "how?"
    later = Job()
    later.ask = True
    result = store.run(later.build, Command(resume="so"))
    assert result["output"] == "did left in attempt 1 and asked: so"
    assert dict(later.calls) == {"solve t.2": 1, "check t.2": 1, "combine t": 1, "check t": 1}
    assert result["usage"].calls == 7
    assert Counter(trace.type for trace in result["traces"]) == {
        "DECOMPOSED": 1,
        "SOLVED": 2,
        "VERIFIED": 3,
        "AGGREGATED": 1,
    }


def test_goes_on_after_an_error_of_the_machinery(store: Store) -> None:
    """An error that is not a work failure reaches the caller; the run can be carried on."""
    job = Job()
    job.break_at = "t.2"
    with pytest.raises(ComponentError, match="the machinery broke"):
        store.run(job.build, "job")
    later = Job()
    result = store.run(later.build, None)
    assert result["output"] == "did left in attempt 1 and did right in attempt 1"
    assert later.calls["decompose t"] == 0
    assert later.calls["solve t.2"] == 1
    assert result["usage"].calls == 7
