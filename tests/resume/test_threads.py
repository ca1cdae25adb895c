"""Threads: what is refused, what a second run starts with, and that runs share nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command, interrupt

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.graph.sqlite import open_sqlite
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.errors import (
    ComponentError,
    FinishedThreadError,
    MissingThreadError,
    RecursiveSolverError,
    UnknownThreadError,
    WrongSaverError,
)
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.usage import Usage
from langgraph_recursive.state.verdict import Verdict, accept, reject

CONFIG: RunnableConfig = {"configurable": {"thread_id": "one"}}
CALLS_PER_RUN = 7


class Job:
    """Splits every root task in two; counts calls by role and task text."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.lock = threading.Lock()

    def count(self, role: str, task: Task) -> None:
        with self.lock:
            self.calls[f"{role} {task.brief.objective}"] += 1

    def decompose(self, task: Task) -> list[str]:
        self.count("decompose", task)
        return [f"{task} left", f"{task} right"]

    def solve(self, task: Task) -> str:
        self.count("solve", task)
        return f"[{task.brief.objective}]"

    def combine(self, task: Task, results: list[str]) -> str:
        self.count("combine", task)
        return " ".join(results)

    def check(self, task: Task) -> Verdict:
        self.count("check", task)
        return accept("fine")

    def build(self, saver: Any = None, policy: SolvePolicy | None = None, **parts: Any) -> Any:
        """The solver; not typed, since LangGraph's `invoke` is declared for dicts only."""
        given: dict[str, Any] = {"solver": self.solve, "verifiers": self.check, **parts}
        return create_recursive_solver(
            decomposer=self.decompose,
            aggregator=self.combine,
            policy=policy or SolvePolicy(max_depth=1),
            checkpointer=saver,
            **given,
        )


@pytest.fixture
def job() -> Job:
    return Job()


def ids(result: dict[str, Any]) -> set[str]:
    return {trace.task_id for trace in result["traces"]}


class TestRefused:
    @pytest.mark.parametrize("in_async", [False, True], ids=["invoke", "ainvoke"])
    @pytest.mark.parametrize(
        ("given", "config", "error"),
        [
            ("job", {}, MissingThreadError),
            (None, {}, MissingThreadError),
            (None, {"configurable": {"thread_id": "never"}}, UnknownThreadError),
            (Command(resume=1), {"configurable": {"thread_id": "never"}}, UnknownThreadError),
            (None, CONFIG, FinishedThreadError),
            (Command(resume=1), CONFIG, FinishedThreadError),
        ],
    )
    def test_a_thread_that_cannot_run(
        self, job: Job, given: Any, config: RunnableConfig, error: type[RecursiveSolverError], in_async: bool
    ) -> None:
        solver = job.build(InMemorySaver())
        solver.invoke("first", CONFIG)
        job.calls.clear()
        with pytest.raises(error) as caught:
            asyncio.run(solver.ainvoke(given, config)) if in_async else solver.invoke(given, config)
        assert caught.value.field == "thread_id"
        assert not job.calls

    def test_a_halted_run_has_ended_too(self, job: Job) -> None:
        solver = job.build(InMemorySaver(), verifiers=lambda task: reject("never"))
        assert solver.invoke("first", CONFIG)["halt"] is not None
        with pytest.raises(FinishedThreadError):
            solver.invoke(None, CONFIG)

    def test_resuming_without_a_saver(self, job: Job) -> None:
        with pytest.raises(UnknownThreadError):
            job.build().invoke(None, CONFIG)

    def test_sync_saver_for_async_calls(self, job: Job, tmp_path: Path) -> None:
        with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver, pytest.raises(WrongSaverError) as caught:
            asyncio.run(job.build(saver).ainvoke("job", CONFIG))
        assert "open_sqlite" in str(caught.value)
        assert not job.calls

    async def test_async_saver_for_sync_calls_in_its_loop(self, job: Job, tmp_path: Path) -> None:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
            with pytest.raises(WrongSaverError):
                job.build(saver).invoke("job", CONFIG)
        assert not job.calls

    def test_async_saver_for_sync_calls_without_a_loop(self, job: Job, tmp_path: Path) -> None:
        async def opened() -> AsyncSqliteSaver:
            import aiosqlite

            async with aiosqlite.connect(tmp_path / "db") as conn:
                return AsyncSqliteSaver(conn)

        saver = asyncio.run(opened())
        with pytest.raises(WrongSaverError):
            job.build(saver).invoke("job", CONFIG)
        assert not job.calls


class TestSecondRun:
    def test_starts_clean(self, job: Job) -> None:
        solver = job.build(InMemorySaver(), policy=SolvePolicy(max_depth=1))
        first = solver.invoke("one", CONFIG)
        second = solver.invoke("two", CONFIG)
        assert second["output"] == "[two left] [two right]"
        assert len(second["attempts"]) == 1
        assert second["traces"]
        assert all("two" in trace.task for trace in second["traces"])
        assert first["usage"] == second["usage"]
        assert second["usage"].calls == CALLS_PER_RUN
        assert second["total_usage"] == first["usage"] + second["usage"]
        assert set(job.calls.values()) == {1}

    def test_is_run_number_two(self, job: Job) -> None:
        seen: list[int] = []

        def solve(task: Task) -> str:
            seen.append(task.run)
            return "done"

        solver = job.build(InMemorySaver(), solver=solve)
        for text in ("one", "two", "three"):
            solver.invoke(text, CONFIG)
        assert seen == [1, 1, 2, 2, 3, 3]

    def test_limits_count_one_run(self, job: Job) -> None:
        """One fix a run: the second run has its own."""

        def check(task: Task) -> Verdict:
            return accept() if task.depth or task.attempt > 1 else reject("once more")

        solver = job.build(InMemorySaver(), SolvePolicy(max_depth=1, max_fixes_total=1), verifiers=check)
        for number in (1, 2, 3):
            result = solver.invoke(f"job {number}", CONFIG)
            assert result["success"], result["halt"]
            assert result["usage"].fixes == 1
            assert result["total_usage"].fixes == number

    def test_after_a_failed_run(self, job: Job) -> None:
        def check(task: Task) -> Verdict:
            return reject("bad") if "bad" in task.intent else accept()

        solver = job.build(InMemorySaver(), verifiers=check)
        bad = solver.invoke("bad", CONFIG)
        assert bad["halt"] is not None
        good = solver.invoke("good", CONFIG)
        assert good["success"]
        assert good["halt"] is None
        assert good["partial"] == []

    def test_only_messages(self, job: Job) -> None:
        solver = job.build(InMemorySaver())
        first = solver.invoke({"messages": [HumanMessage("one")]}, CONFIG)
        second = solver.invoke({"messages": [HumanMessage("two")]}, CONFIG)
        assert second["output"] == "[two left] [two right]"
        texts = [message.text for message in second["messages"]]
        assert texts == ["one", first["output"], "two", second["output"]]
        assert set(job.calls.values()) == {1}

    def test_a_task_and_then_only_messages(self, job: Job) -> None:
        solver = job.build(InMemorySaver())
        solver.invoke({"task": "one"}, CONFIG)
        assert solver.invoke({"messages": [HumanMessage("two")]}, CONFIG)["output"] == "[two left] [two right]"

    def test_on_an_interrupted_thread(self, job: Job) -> None:
        def solve(task: Task) -> str:
            job.count("solve", task)
            return str(interrupt("?")) if "ask left" in task.brief.objective else f"[{task.brief.objective}]"

        solver = job.build(InMemorySaver(), solver=solve)
        assert solver.invoke("ask", CONFIG)["__interrupt__"]
        result = solver.invoke("two", CONFIG)
        assert "__interrupt__" not in result
        assert result["output"] == "[two left] [two right]"
        assert result["usage"].calls == CALLS_PER_RUN
        assert ids(result) == {"t", "t.1", "t.2"}
        assert all("two" in trace.task for trace in result["traces"])
        # What the abandoned run spent stays in the thread's total: decompose, solve and check of its other child.
        assert result["total_usage"].calls == CALLS_PER_RUN + 3

    def test_on_a_crashed_thread(self, job: Job) -> None:
        saver = InMemorySaver()

        def solve(task: Task) -> str:
            raise ComponentError("the machinery broke")

        with pytest.raises(ComponentError):
            job.build(saver, solver=solve).invoke("one", CONFIG)
        result = job.build(saver).invoke("two", CONFIG)
        assert result["output"] == "[two left] [two right]"
        assert result["usage"].calls == CALLS_PER_RUN
        assert all("two" in trace.task for trace in result["traces"])


class TestApart:
    """Runs of one compiled graph at once."""

    INPUTS = tuple(f"job {number}" for number in range(8))

    @staticmethod
    def checked(results: list[dict[str, Any]]) -> None:
        for text, result in zip(TestApart.INPUTS, results, strict=True):
            assert result["output"] == f"[{text} left] [{text} right]"
            assert result["usage"] == Usage(calls=CALLS_PER_RUN, llm_calls=CALLS_PER_RUN, tasks=3)
            assert result["total_usage"] == result["usage"]
            assert len(result["traces"]) == 7
            assert all(text in trace.task for trace in result["traces"])

    def test_batch(self, job: Job) -> None:
        self.checked(job.build().batch(list(self.INPUTS)))

    def test_batch_with_threads(self, job: Job) -> None:
        solver = job.build(InMemorySaver())
        configs: list[RunnableConfig] = [{"configurable": {"thread_id": text}} for text in self.INPUTS]
        self.checked(solver.batch(list(self.INPUTS), configs))

    async def test_abatch(self, job: Job) -> None:
        self.checked(await job.build().abatch(list(self.INPUTS)))

    async def test_abatch_on_sqlite(self, job: Job, tmp_path: Path) -> None:
        configs: list[RunnableConfig] = [{"configurable": {"thread_id": text}} for text in self.INPUTS]
        async with open_sqlite(tmp_path / "db") as saver:
            self.checked(await job.build(saver).abatch(list(self.INPUTS), configs))

    async def test_slots_are_each_runs_own(self, job: Job) -> None:
        """Two runs of width one: each makes its first call while the other is in one."""
        together = asyncio.Barrier(2)

        async def solve(task: Task) -> str:
            await asyncio.wait_for(together.wait(), 10)
            return "done"

        solver: Any = create_recursive_solver(solver=solve, policy=SolvePolicy(max_concurrency=1))
        results = await solver.abatch(["a", "b"])
        assert all(result["success"] for result in results)

    async def test_invoke_in_a_running_loop_with_a_sync_saver(self, job: Job, tmp_path: Path) -> None:
        async def check(task: Task) -> bool:
            await asyncio.sleep(0)
            return True

        with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
            result = job.build(saver, verifiers=check).invoke("job", CONFIG)
        assert result["output"] == "[job left] [job right]"
        assert result["verified"]


class BrokenError(Exception):
    """Raised by a saver."""


class TestSaverFails:
    """A saver's error is not a work failure: it reaches the caller unchanged."""

    @staticmethod
    def breaking(after: int) -> BaseCheckpointSaver[Any]:
        count = iter(range(after, -1, -1))

        class Failing(InMemorySaver):
            def put_writes(self, *args: Any, **kwargs: Any) -> None:
                if next(count, 0) == 0:
                    raise BrokenError("disk full")
                super().put_writes(*args, **kwargs)

        return Failing()

    @pytest.mark.parametrize("after", [0, 3, 9, 15])
    @pytest.mark.parametrize("in_async", [False, True], ids=["invoke", "ainvoke"])
    def test_reaches_the_caller(self, job: Job, after: int, in_async: bool) -> None:
        solver = job.build(self.breaking(after))
        with pytest.raises(BrokenError, match="disk full"):
            asyncio.run(solver.ainvoke("job", CONFIG)) if in_async else solver.invoke("job", CONFIG)

    @pytest.mark.parametrize("in_async", [False, True], ids=["invoke", "ainvoke"])
    def test_put(self, job: Job, in_async: bool) -> None:
        class Failing(InMemorySaver):
            def put(self, config: RunnableConfig, *args: Any) -> RunnableConfig:
                if "|" in config["configurable"].get("checkpoint_ns", ""):
                    raise BrokenError("disk full")
                return super().put(config, *args)

        solver = job.build(Failing())
        with pytest.raises(BrokenError, match="disk full"):
            asyncio.run(solver.ainvoke("job", CONFIG)) if in_async else solver.invoke("job", CONFIG)


class TestCancelled:
    async def test_stops_all_and_can_be_resumed(self, job: Job, tmp_path: Path) -> None:
        running: set[str] = set()
        slow = True

        async def solve(task: Task) -> str:
            job.count("solve", task)
            running.add(task.id)
            try:
                await asyncio.sleep(30 if slow and task.id != "t.1" else 0)
            finally:
                running.discard(task.id)
            return f"[{task.brief.objective}]"

        async with open_sqlite(tmp_path / "db") as saver:
            solver = job.build(saver, solver=solve)
            before = asyncio.all_tasks()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await solver.ainvoke("job", CONFIG)
            await asyncio.sleep(0.05)
            assert asyncio.all_tasks() == before
            assert not running
            slow = False
            result = await solver.ainvoke(None, CONFIG)
        assert result["output"] == "[job left] [job right]"
        assert job.calls["solve job left"] == 1
        assert job.calls["solve job right"] == 2
        assert result["usage"].calls == CALLS_PER_RUN

    async def test_without_a_saver(self, job: Job) -> None:
        async def solve(task: Task) -> str:
            await asyncio.sleep(30)
            return "late"

        before = asyncio.all_tasks()
        running = asyncio.ensure_future(job.build(solver=solve).ainvoke("job"))
        await asyncio.sleep(0.2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.sleep(0.05)
        assert asyncio.all_tasks() == before


@pytest.mark.parametrize("in_async", [False, True], ids=["invoke", "ainvoke"])
def test_fail_fast_holds_after_a_resume(in_async: bool) -> None:
    """The sibling of a child that failed before the crash is not run after it."""
    calls: list[str] = []
    broken = True

    def solve(task: Task) -> str:
        calls.append(task.id)
        if task.id == "t.2" and broken:
            time.sleep(0.3)  # until t.1 has failed for good
            raise ComponentError("the machinery broke")
        return "done"

    solver: Any = create_recursive_solver(
        decomposer=lambda task: ["left", "right"],
        solver=solve,
        verifiers=lambda task: reject("never") if task.brief.objective == "left" else accept(),
        policy=SolvePolicy(max_depth=1, on_child_failure="fail_fast"),
        checkpointer=InMemorySaver(),
    )

    with pytest.raises(ComponentError):
        solver.invoke("job", CONFIG)
    assert sorted(calls) == ["t.1", "t.1_fix_1", "t.2"]
    broken = False
    calls.clear()
    result = asyncio.run(solver.ainvoke(None, CONFIG)) if in_async else solver.invoke(None, CONFIG)
    assert calls == []
    assert result["halt"].type == "child_failed"
    assert result["halt"].child.type == "recovery_stalled"
