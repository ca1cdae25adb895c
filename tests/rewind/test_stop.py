"""One task, and what is under it, is stopped while the run goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph import rewind, stop_task
from langgraph_recursive.state.decisions import ReviewContext
from langgraph_recursive.state.errors import NotRunningError, RunningThreadError, UnknownTaskError
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.review import ReviewDecision, TaskReview
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import ValidationResult
from review_kit import decide
from rewind_kit import ANSWER, CONFIG, Work

D = ReviewDecision
LONG = 30.0


class Judge:
    """Accepts what passed, and for the rest takes the next of its decisions; remembers what it was allowed."""

    def __init__(self, *decisions: str) -> None:
        self.decisions = list(decisions)
        self.seen: dict[str, tuple[TaskReport, ValidationResult, frozenset[ReviewDecision]]] = {}

    def __call__(self, report: TaskReport, result: ValidationResult, ctx: ReviewContext) -> TaskReview:
        self.seen[report.child_task_id] = report, result, ctx.allowed
        if result.outcome == "passed":
            return decide("ASCEND" if D.ASCEND in ctx.allowed else "REJECT_REFINE")
        return decide(self.decisions.pop(0))


class Slow:
    """An async solver that takes long for one attempt, and says when that has begun and how it ended."""

    def __init__(self, work: Work, attempt: str) -> None:
        self.work = work
        self.attempt = attempt
        self.begun = asyncio.Event()
        self.cancelled = False

    async def __call__(self, task: Task) -> str:
        if task.id == self.attempt:
            self.begun.set()
            try:
                await asyncio.sleep(LONG)
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        return self.work.solve(task)


def in_a_thread(call: Callable[[], Any]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


@pytest.mark.parametrize("from_thread", [False, True], ids=["task", "thread"])
async def test_async_calls_in_flight_are_cancelled_and_the_parent_may_revise(work: Work, from_thread: bool) -> None:
    slow, judge = Slow(work, "t.3.2"), Judge("FAIL", "REVISE_CHILD")
    solver = work.solver(InMemorySaver(), solver=slow, reviewer=judge)
    running = asyncio.ensure_future(solver.ainvoke("job", CONFIG))
    await slow.begun.wait()
    if from_thread:
        await asyncio.to_thread(stop_task, solver, CONFIG, "t.3")
    else:
        stop_task(solver, CONFIG, "t.3")
    result = await asyncio.wait_for(running, 10)
    assert slow.cancelled
    report, verdict, allowed = judge.seen["t.3"]
    assert report.outcome == "failed"
    assert verdict.outcome == "failed"
    assert "cancelled" in report.summary
    assert allowed <= {D.REVISE_CHILD, D.FAIL}
    assert result["halt"] is not None
    assert result["halt"].child.type == "cancelled"
    assert result["halt"].child.task_id == "t.3"


async def test_a_revised_child_is_not_stopped_any_more(work: Work) -> None:
    slow, judge = Slow(work, "t.2"), Judge("REVISE_CHILD")
    solver = work.solver(InMemorySaver(), solver=slow, reviewer=judge)
    running = asyncio.ensure_future(solver.ainvoke("job", CONFIG))
    await slow.begun.wait()
    stop_task(solver, CONFIG, "t.2")
    result = await asyncio.wait_for(running, 10)
    assert judge.seen["t.2"][2] == {D.REVISE_CHILD, D.FAIL}
    assert result["output"] == ANSWER
    assert work.calls["t.2_fix_1", "solve"] == 1


async def test_the_rest_of_the_run_goes_on(work: Work) -> None:
    """Under `best_effort` everything else is finished."""
    slow = Slow(work, "t.3.2")
    solver = work.solver(InMemorySaver(), solver=slow, policy={"on_child_failure": "best_effort"})
    running = asyncio.ensure_future(solver.ainvoke("job", CONFIG))
    await slow.begun.wait()
    stop_task(solver, CONFIG, "t.3")
    result = await asyncio.wait_for(running, 10)
    assert result["success"]
    assert result["report"].missing == ["t.3"]
    assert work.calls["t.2", "solve"] == 1
    assert not [call for call in work.calls if call[0] == "t.3" and call[1] in ("aggregate", "verify")]


@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["no-saver", "saver"])
async def test_by_the_id_that_events_carry(work: Work, saver: Any) -> None:
    slow = Slow(work, "t.3.2")
    solver = work.solver(saver, solver=slow, policy={"on_child_failure": "best_effort"})
    config: RunnableConfig = CONFIG if saver else {}
    stopped = 0
    async for kind, event in solver.astream("job", config, stream_mode=["custom", "values"]):
        if kind == "custom" and event["task_id"] == "t.3.2" and event["type"] == "task_started":
            await slow.begun.wait()
            stop_task(solver, event["run_id"], "t.3.2")
            stopped += 1
        if kind == "values":
            last = event
    assert stopped == 1
    assert slow.cancelled
    assert last["success"]
    assert last["report"].missing == ["t.3.2"]
    assert asyncio.current_task() is not None
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


def test_in_sync_the_call_in_flight_ends_and_none_follows(work: Work) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def breaks(task: Task, role: str) -> None:
        if (task.id, role) == ("t.3.1", "solve"):
            begun.set()
            assert go_on.wait(10)

    work.breaks = breaks
    solver = work.solver(InMemorySaver(), policy={"on_child_failure": "best_effort"})
    results: list[Any] = []
    running = threading.Thread(target=lambda: results.append(solver.invoke("job", CONFIG)))
    running.start()
    assert begun.wait(10)
    stop_task(solver, CONFIG, "t.3.1")
    go_on.set()
    running.join(20)
    [result] = results
    assert result["success"]
    assert result["report"].missing == ["t.3.1"]
    assert work.calls["t.3.1", "solve"] == 1
    assert work.calls["t.3.1", "verify"] == 0


async def test_stopping_the_root_halts_the_run(work: Work) -> None:
    slow = Slow(work, "t.3.2")
    solver = work.solver(InMemorySaver(), solver=slow)
    running = asyncio.ensure_future(solver.ainvoke("job", CONFIG))
    await slow.begun.wait()
    stop_task(solver, CONFIG, "t")
    result = await asyncio.wait_for(running, 10)
    assert result["halt"].type == "cancelled"
    assert result["halt"].task_id == "t"


async def test_a_stopped_task_can_be_rewound(work: Work) -> None:
    slow = Slow(work, "t.3.2")
    solver = work.solver(InMemorySaver(), solver=slow)
    running = asyncio.ensure_future(solver.ainvoke("job", CONFIG))
    await slow.begun.wait()
    stop_task(solver, CONFIG, "t.3.2")
    assert (await asyncio.wait_for(running, 10))["halt"].type == "child_failed"
    assert rewind(solver, CONFIG, "t.3.2", "solve") == "t.3.2_fix_1"
    result = await solver.ainvoke(None, CONFIG)
    assert result["output"] == ANSWER


async def test_who_is_not_at_work(work: Work) -> None:
    slow = Slow(work, "t.3.2")
    solver = work.solver(InMemorySaver(), solver=slow)
    with pytest.raises(NotRunningError) as none:
        stop_task(solver, CONFIG, "t")
    assert none.value.field == "run"
    with pytest.raises(NotRunningError):
        stop_task(solver, "no-such-run", "t")
    running = asyncio.ensure_future(solver.ainvoke("job", CONFIG))
    await slow.begun.wait()
    with pytest.raises(UnknownTaskError) as unknown:
        stop_task(solver, CONFIG, "t.9")
    assert unknown.value.field == "task_id"
    assert unknown.value.value == "t.9"
    assert "t.3.2" in str(unknown.value)
    with pytest.raises(RunningThreadError):
        rewind(solver, CONFIG, "t.3")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(NotRunningError):
        stop_task(solver, CONFIG, "t.3.2")
