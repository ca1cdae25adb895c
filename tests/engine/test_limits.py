"""Limits: width, time, fixes, and runs beside each other (rules 8, 29, 30; design section 4)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import RetryPolicy

from engine_kit import Peak, Solver, split
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.brief import SubTask
from langgraph_recursive.state.task import Task

Run = Callable[..., dict[str, Any]]

WIDE = {"w": list("abcdef"), "a": ["a1", "a2", "a3"], "b": ["b1", "b2", "b3"]}


def asleep(peak: Peak, seconds: float) -> Callable[[Task], Any]:
    async def component(task: Task) -> str:
        with peak.inside():
            await asyncio.sleep(seconds)
        return "x"

    return component


def counted(peak: Peak, part: Callable[..., Any]) -> Callable[..., Any]:
    def component(task: Task) -> Any:
        with peak.inside():
            time.sleep(0.005)
            return part(task, task.depth)

    return component


def blocked(task_id: str) -> Callable[[Task], str]:
    """A solver that is stuck at one task; its thread is left behind."""
    return lambda task: str(threading.Event().wait(20)) if task.id == task_id else "x"


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("saver", [None, InMemorySaver])
def test_max_concurrency_counts_all_component_calls_of_the_whole_tree(
    way: str, width: int, saver: Any, run: Run
) -> None:
    peak = Peak()
    graph: Any = create_recursive_solver(
        solver=peak.sleeping(0.01) if way == "sync" else asleep(peak, 0.01),
        decomposer=counted(peak, split(WIDE)),
        aggregator=counted(peak, lambda task, depth: "y"),
        verifiers=[counted(peak, lambda task, depth: True)] * 2,
        policy=SolvePolicy(max_concurrency=width),
        checkpointer=saver and saver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    result = run(graph, "w", config)
    assert result["success"]
    assert peak.most == width
    assert peak.total == result["usage"].calls


@pytest.mark.parametrize("width", [1, 2])
def test_a_width_in_the_config_takes_its_place_and_does_not_deadlock_while_streaming(way: str, width: int) -> None:
    peak = Peak()
    graph: Any = create_recursive_solver(
        solver=peak.sleeping(0.005), decomposer=split(WIDE), aggregator=lambda: "y", verifiers=[lambda: True]
    )
    config: Any = {"max_concurrency": width}
    modes: Any = ["values", "updates", "custom", "messages"]

    async def astreamed() -> list[Any]:
        return [chunk async for chunk in graph.astream("w", config, stream_mode=modes, subgraphs=True)]

    if way == "sync":
        chunks = list(graph.stream("w", config, stream_mode=modes, subgraphs=True))
    else:
        chunks = asyncio.run(asyncio.wait_for(astreamed(), 20))
    last = [value for namespace, mode, value in chunks if mode == "values" and namespace == ()][-1]
    assert last["success"]
    assert peak.most == width


def test_a_solver_nested_as_a_component_has_the_width_of_its_own_policy(run: Run) -> None:
    peak = Peak()
    inner = create_recursive_solver(
        solver=peak.sleeping(0.02),
        decomposer=split(WIDE),
        aggregator=lambda: "y",
        policy=SolvePolicy(max_concurrency=2),
    )
    assert run(create_recursive_solver(solver=inner), "w")["success"]
    assert peak.most == 2


def test_four_solvers_meet_at_a_barrier_of_four(way: str) -> None:
    tree = {"w": ["a", "b"], "a": ["c", "d"], "b": ["e", "f"]}
    if way == "sync":
        barrier = threading.Barrier(4, timeout=10)
        graph: Any = create_recursive_solver(
            solver=lambda task: str(barrier.wait()), decomposer=split(tree), aggregator=lambda: "met"
        )
        assert graph.invoke("w")["output"] == "met"
        return

    async def meet() -> Any:
        everyone = asyncio.Event()
        inside = Peak()

        async def solver(task: Task) -> str:
            with inside.inside():
                if inside.now == 4:
                    everyone.set()
                await asyncio.wait_for(everyone.wait(), 10)
            return "x"

        graph: Any = create_recursive_solver(solver=solver, decomposer=split(tree), aggregator=lambda: "met")
        return await graph.ainvoke("w")

    assert asyncio.run(meet())["output"] == "met"


def test_sync_solvers_meet_at_a_barrier_under_the_event_loop_too(run: Run) -> None:
    barrier = threading.Barrier(4, timeout=10)
    graph: Any = create_recursive_solver(
        solver=lambda task: str(barrier.wait()), decomposer=split({"w": list("abcd")}), aggregator=lambda: "met"
    )
    assert asyncio.run(graph.ainvoke("w"))["output"] == "met"


def test_no_slot_is_held_while_waiting_for_children_or_dependencies(run: Run) -> None:
    graph: Any = create_recursive_solver(
        solver=Solver(),
        decomposer=split({"w": [SubTask("b", [1]), "a"], "a": ["a1"], "a1": ["a2"]}),
        aggregator=lambda: "y",
        policy=SolvePolicy(max_concurrency=1),
    )
    assert run(graph, "w")["success"]


# Time.


def test_a_call_over_its_time_out_is_task_failed(way: str, run: Run) -> None:
    graph: Any = create_recursive_solver(
        solver=blocked("t") if way == "sync" else asleep(Peak(), 30), policy=SolvePolicy(call_timeout=0.1)
    )
    started = time.monotonic()
    result = run(graph, "w")
    assert time.monotonic() - started < 15  # of 20 s
    assert (result["halt"].type, result["halt"].error_type) == ("task_failed", "CallTimeoutError")
    assert "0.1 s" in result["halt"].detail


def test_a_validator_over_its_time_out_is_an_error(run: Run) -> None:
    graph: Any = create_recursive_solver(
        solver=Solver(), verifiers=[Peak().sleeping(0.3, True)], policy=SolvePolicy(call_timeout=0.05)
    )
    assert run(graph, "w")["halt"].type == "validator_error"


def test_waiting_for_a_place_does_not_count_against_the_time_out(way: str, run: Run) -> None:
    peak = Peak()
    graph: Any = create_recursive_solver(
        solver=peak.sleeping(0.05) if way == "sync" else asleep(peak, 0.05),
        decomposer=split({"w": list("abcdef")}),
        aggregator=lambda: "y",
        policy=SolvePolicy(max_concurrency=1, call_timeout=0.2),
    )
    result = run(graph, "w")
    assert result["success"]


def test_the_next_call_after_one_that_timed_out_gets_its_place(run: Run) -> None:
    graph: Any = create_recursive_solver(
        solver=blocked("t.1"),
        decomposer=split({"w": ["a", "b"]}),
        aggregator=lambda task, results: results[0],
        policy=SolvePolicy(max_concurrency=1, call_timeout=0.1, on_child_failure="best_effort"),
    )
    result = run(graph, "w")
    assert result["output"] == "x"


@pytest.mark.parametrize("part", ["solver", "verifiers", "prechecks", "decomposer"])
def test_a_tasks_time_is_up_whichever_part_is_running(run: Run, part: str) -> None:
    slow = Peak().sleeping(0.3, True)
    given: dict[str, Any] = {"solver": Solver(), part: [slow] if part.endswith("s") else slow}
    result = run(create_recursive_solver(**given, policy=SolvePolicy(max_task_seconds=0.1)), "w")
    assert result["halt"].type == "timed_out"
    assert "max_task_seconds" in result["halt"].detail


def test_a_tasks_time_counts_all_its_attempts(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    clock = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 60 * len(calls))

    def takes_a_minute(task: Task) -> str:
        calls.append(1)
        return "x"

    graph: Any = create_recursive_solver(
        solver=takes_a_minute,
        verifiers=[lambda attempt: False],
        policy=SolvePolicy(max_task_seconds=150, max_attempts=50, max_fixes_total=50, stall_window=0),
    )
    result = run(graph, "w")
    assert result["halt"].type == "timed_out"
    assert len(calls) == 3
    assert [part.text for part in result["partial"]] == ["x"]


def test_a_tasks_time_counts_its_children_and_a_composite_task_is_timed_out_itself(run: Run) -> None:
    started = time.monotonic()
    graph: Any = create_recursive_solver(
        solver=blocked("t.2.1"),
        decomposer=split({"w": ["a", "b"], "b": ["c"]}),
        aggregator=lambda: "y",
        policy=SolvePolicy(max_task_seconds=1.0),
    )
    result = run(graph, "w")
    assert time.monotonic() - started < 15  # of 20 s
    assert result["halt"].type == "timed_out"
    assert [part.task_id for part in result["partial"]] == ["t.1"]


def test_the_time_of_a_task_in_best_effort_is_the_same(run: Run) -> None:
    graph: Any = create_recursive_solver(
        solver=blocked("t.2"),
        decomposer=split({"w": ["a", "b"]}),
        policy=SolvePolicy(max_task_seconds=1.0, on_child_failure="best_effort"),
    )
    result = run(graph, "w")
    assert result["halt"].type == "timed_out"
    assert [part.task_id for part in result["partial"]] == ["t.1"]


def test_a_retry_does_not_outlive_the_call_s_time_out(run: Run) -> None:
    def solver(task: Task) -> str:
        time.sleep(0.08)
        raise ConnectionError

    retry = RetryPolicy(initial_interval=0.01, jitter=False, max_attempts=50, retry_on=ConnectionError)
    started = time.monotonic()
    result = run(create_recursive_solver(solver=solver, policy=SolvePolicy(retry=retry, call_timeout=0.2)), "w")
    assert time.monotonic() - started < 3  # of at least 4 s for 50 tries
    assert result["halt"].type == "task_failed"


# The caller's cancel, and runs beside each other.


def test_a_callers_cancel_stops_all_nested_work_and_reaches_the_caller() -> None:
    peak = Peak()
    graph: Any = create_recursive_solver(solver=asleep(peak, 30), decomposer=split({"w": ["a", "b"], "a": ["c"]}))

    async def cancelled() -> None:
        running = asyncio.create_task(graph.ainvoke("w"))
        while peak.now < 2:  # noqa: ASYNC110 - a counter, not an event
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.sleep(0.05)
        assert peak.now == 0

    asyncio.run(asyncio.wait_for(cancelled(), 10))


def test_an_async_part_may_time_out_by_itself(run: Run) -> None:
    async def solver(task: Task) -> str:
        async with asyncio.timeout(0.02):
            await asyncio.sleep(1)
        return "x"

    result = run(create_recursive_solver(solver=solver, policy=SolvePolicy(retry=None)), "w")
    assert (result["halt"].type, result["halt"].error_type) == ("task_failed", "TimeoutError")


def test_two_runs_of_one_graph_at_once_share_nothing(way: str, run: Run) -> None:
    def judge(task: Task, attempt: int) -> bool:
        return attempt > 1 or "easy" in task.anchor.objective

    graph: Any = create_recursive_solver(
        solver=lambda task: f"{task.anchor.objective}/{task.id}",
        decomposer=lambda task, depth: ["a", "b"] if depth == 0 else [],
        aggregator=lambda task, results: "+".join(results),
        verifiers=[judge],
        policy=SolvePolicy(max_fixes_total=3),
    )
    tasks = [f"{kind} {number}" for number in range(4) for kind in ("easy", "hard")]
    results = graph.batch(tasks) if way == "sync" else asyncio.run(graph.abatch(tasks))
    for task, result in zip(tasks, results, strict=True):
        assert result["success"], result["halt"]
        fix = "_fix_1" if task.startswith("hard") else ""
        assert result["output"] == f"{task}/t.1{fix}+{task}/t.2{fix}"
        assert result["usage"].fixes == (3 if fix else 0)
        assert {entry.task for entry in result["traces"] if entry.depth == 0} == {task}


def test_a_stop_in_one_run_does_not_reach_another() -> None:
    graph: Any = create_recursive_solver(
        solver=lambda task: 1 // 0 if task.anchor.objective == "bad" and task.id == "t.1" else "x",
        decomposer=lambda task, depth: ["a", "b"] if depth == 0 else [],
        aggregator=lambda: "y",
    )
    results = graph.batch(["bad", "good"] * 3)
    assert [result["success"] for result in results] == [False, True] * 3


def test_invoke_works_inside_a_running_event_loop() -> None:
    async def solver(task: Task) -> str:
        await asyncio.sleep(0)
        return "x"

    async def inside() -> Any:
        graph: Any = create_recursive_solver(solver=solver, checkpointer=InMemorySaver())
        return graph.invoke("w", {"configurable": {"thread_id": "1"}})

    assert asyncio.run(inside())["output"] == "x"


def test_a_deep_chain_does_not_meet_the_recursion_limit(run: Run) -> None:
    graph: Any = create_recursive_solver(
        solver=Solver(),
        atomizer=lambda task, depth: False,
        decomposer=lambda task, depth: [f"{task.brief.objective}{depth}"],
        aggregator=lambda task, results: results[0],
        policy=SolvePolicy(max_depth=12),
    )
    assert run(graph, "w")["output"] == "done"


def test_the_recursion_limit_of_a_host_is_raised_to_what_the_policy_needs(run: Run) -> None:
    policy = SolvePolicy(max_attempts=12, max_fixes_total=20)
    graph: Any = create_recursive_solver(
        solver=Solver(), verifiers=[lambda attempt: attempt == 12], policy=policy.model_copy(update={"stall_window": 0})
    )
    assert run(graph, "w", {"recursion_limit": 5})["success"]
