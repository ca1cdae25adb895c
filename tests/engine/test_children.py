"""Children: dependencies, the three ways to take a failed one, replans (rules 3 to 6, 13, 16 and 30)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from engine_kit import Solver, split
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.brief import SubTask
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import Verdict, accept, reject

Run = Callable[..., dict[str, Any]]


def raising(task: Task) -> str:
    raise RuntimeError("it broke")


def failing(*objectives: str) -> Callable[[Task], str]:
    return lambda task: raising(task) if task.brief.objective in objectives else f"{task.brief.objective}!"


def refusing(*objectives: str) -> Callable[[Task], Verdict]:
    return lambda task: reject("bad") if task.brief.objective in objectives else accept()


# Dependencies.


def test_a_child_starts_when_its_dependencys_verdict_passed_and_sees_its_output(run: Run) -> None:
    events: list[str] = []

    def solver(task: Task) -> str:
        events.append(f"solve {task.id}")
        return f"{task.brief.objective} {task.attempt}"

    def verifier(task: Task, attempt: int) -> bool:
        time.sleep(0.02)
        events.append(f"judge {task.id}")
        return task.brief.objective != "first" or attempt == 2

    solved = Solver(solver)
    graph = create_recursive_solver(
        solver=solved,
        decomposer=split({"w": [SubTask("second", depends_on=[1]), "first"]}),
        aggregator=lambda: "x",
        verifiers=[verifier],
    )
    run(graph, "w")
    assert events[:4] == ["solve t.2", "judge t.2", "solve t.2_fix_1", "judge t.2_fix_1"]
    assert events[4] == "solve t.1"
    second = next(task for task in solved.tasks if task.id == "t.1")
    assert [(given.task_id, given.objective, given.text) for given in second.inputs] == [
        ("t.2_fix_1", "first", "first 2")
    ]
    # It travels beside the brief, never in it.
    assert "first 2" not in str(second.brief)


def test_others_do_not_wait(run: Run) -> None:
    free_ran = threading.Event()

    def solver(task: Task) -> str:
        if task.brief.objective == "slow":
            assert free_ran.wait(5), "the independent child waited"
        if task.brief.objective == "after free":
            free_ran.set()
        return "x"

    graph = create_recursive_solver(
        solver=solver,
        decomposer=split({"w": ["slow", "free", SubTask("after free", depends_on=[1]), SubTask("end", [0])]}),
        aggregator=lambda task, results: str(len(results)),
    )
    result = run(graph, "w")
    assert result["output"] == "4"


def test_a_dependency_of_several_layers_is_followed(run: Run) -> None:
    solver = Solver(failing())
    graph = create_recursive_solver(
        solver=solver,
        decomposer=split({"w": [SubTask("c", [1, 2]), SubTask("b", [2]), "a"]}),
        aggregator=lambda: "x",
    )
    run(graph, "w")
    assert solver.ids == ["t.3", "t.2", "t.1"]
    assert [given.text for given in solver.tasks[-1].inputs] == ["b!", "a!"]


# fail_fast


def test_fail_fast_is_the_default_without_a_planning_model(run: Run) -> None:
    solver = Solver(failing("a"))
    graph = create_recursive_solver(solver=solver, decomposer=split({"w": ["a", SubTask("b", [0])]}))
    result = run(graph, "w")
    assert result["halt"].type == "child_failed"
    assert solver.ids == ["t.1"]


def test_fail_fast_stops_the_siblings_that_run_and_starts_no_further_one(way: str, run: Run) -> None:
    running = threading.Semaphore(0)
    calls: list[str] = []

    def fails(task: Task) -> str:
        calls.append(task.id)
        if task.brief.objective == "bad":
            assert all(running.acquire(timeout=5) for _ in range(2))
            raise RuntimeError("it broke")
        running.release()
        time.sleep(0.2)
        return "x"

    async def afails(task: Task) -> str:
        calls.append(task.id)
        if task.brief.objective == "bad":
            for _ in range(2):
                assert await asyncio.to_thread(running.acquire, timeout=5)
            raise RuntimeError("it broke")
        running.release()
        await asyncio.sleep(30)
        return "x"

    graph = create_recursive_solver(
        solver=fails if way == "sync" else afails,
        decomposer=split({"w": ["bad", "long", "inner", SubTask("later", [1])], "inner": ["deep"]}),
        verifiers=[lambda: True],
    )
    started = time.monotonic()
    result = run(graph, "w")
    assert time.monotonic() - started < 5
    assert result["halt"].type == "child_failed"
    assert result["halt"].child.type == "task_failed"
    assert result["halt"].child.task_id == "t.1"
    assert "t.4" not in calls
    stopped = [entry for entry in result["traces"] if entry.type == "HALTED" and "cancelled" in entry.detail]
    assert {entry.task_id for entry in stopped} >= {"t.2", "t.3.1"}


def test_a_stopped_child_reports_failed_and_its_halt_is_cancelled(run: Run) -> None:
    both = threading.Barrier(2, timeout=5)

    def solver(task: Task) -> str:
        both.wait()
        if task.id == "t.1":
            raise RuntimeError("it broke")
        time.sleep(0.1)
        return "x"

    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    graph = create_recursive_solver(solver=solver, decomposer=split({"w": ["a", "b"]}), checkpointer=InMemorySaver())
    run(graph, "w", config)
    child = graph.get_state(config).values["state"].children["t.2"]
    assert (child.report.outcome, child.halt.type) == ("failed", "cancelled")


# best_effort

BEST_EFFORT = SolvePolicy(on_child_failure="best_effort", max_attempts=1)


def test_under_best_effort_dependents_of_an_unaccepted_child_never_start_and_are_missing(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        decomposer=split({"w": ["a", SubTask("b", [0]), SubTask("c", [1]), "d"]}),
        aggregator=lambda task, results, missing: ",".join(missing),
        verifiers=[refusing("a")],
        policy=BEST_EFFORT,
    )
    result = run(graph, "w")
    assert result["output"] == "t.1,t.2,t.3"
    assert sorted(solver.ids) == ["t.1", "t.4"]
    assert result["report"].missing == ["t.1", "t.2", "t.3"]


def test_what_is_missing_deeper_in_the_tree_is_missing_at_the_root(run: Run) -> None:
    graph = create_recursive_solver(
        solver=failing("c"),
        decomposer=split({"w": ["a", "b"], "a": ["c", "d"]}),
        aggregator=lambda: "y",
        policy=BEST_EFFORT,
    )
    result = run(graph, "w")
    assert result["success"]
    assert (result["report"].outcome, result["report"].missing) == ("partial", ["t.1.1"])


def test_best_effort_with_nothing_accepted_fails(run: Run) -> None:
    graph = create_recursive_solver(solver=failing("a", "b"), decomposer=split({"w": ["a", "b"]}), policy=BEST_EFFORT)
    assert run(graph, "w")["halt"].type == "child_failed"


def test_a_best_effort_answer_is_still_verified(run: Run) -> None:
    graph = create_recursive_solver(
        solver=Solver(),
        decomposer=split({"w": ["a", "b"]}),
        aggregator=lambda: "thin",
        verifiers=[refusing("a", "w")],
        policy=BEST_EFFORT,
    )
    assert run(graph, "w")["halt"].type == "recovery_exhausted"


# replan


def replanning(**fields: Any) -> SolvePolicy:
    return SolvePolicy(on_child_failure="replan", max_attempts=1, **fields)


def test_a_replan_keeps_accepted_children_shows_them_and_goes_on_numbering(run: Run) -> None:
    planned: list[Task] = []

    def decomposer(task: Task, depth: int) -> list[str]:
        if depth:
            return []
        planned.append(task)
        return ["a", "b", "c"] if len(planned) == 1 else ["b1", "b2"]

    solver = Solver(failing())
    graph = create_recursive_solver(
        solver=solver,
        decomposer=decomposer,
        aggregator=lambda task, results: "+".join(f"{result.task_id}={result}" for result in results),
        verifiers=[refusing("b")],
        policy=replanning(),
    )
    result = run(graph, "w")
    assert result["output"] == "t.1=a!+t.3=c!+t.4=b1!+t.5=b2!"
    assert sorted(solver.ids) == ["t.1", "t.2", "t.3", "t.4", "t.5"]
    assert [(given.task_id, given.objective, given.text) for given in planned[1].inputs] == [
        ("t.1", "a", "a!"),
        ("t.3", "c", "c!"),
    ]
    assert len(result["attempts"]) == 1


def test_a_second_failure_after_a_replan_fails(run: Run) -> None:
    plans = iter([["a", "b"], ["c"], ["d"]])
    graph = create_recursive_solver(
        solver=Solver(),
        decomposer=lambda task, depth: next(plans) if depth == 0 else [],
        verifiers=[refusing("b", "c")],
        policy=replanning(),
    )
    result = run(graph, "w")
    assert result["halt"].type == "child_failed"
    assert result["halt"].child.task_id == "t.3"
    assert [part.task_id for part in result["partial"] if part.verified] == ["t.1"]


@pytest.mark.parametrize("again", [["a", "b"], ["b"], ["B."], ["b", "a"]])
def test_a_replan_equal_to_the_old_plan_is_a_fail(run: Run, again: list[str]) -> None:
    plans = iter([["a", "b"], again])
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        decomposer=lambda task, depth: next(plans) if depth == 0 else [],
        verifiers=[refusing("b")],
        policy=replanning(),
    )
    result = run(graph, "w")
    assert result["halt"].type == "child_failed"
    assert sorted(solver.ids) == ["t.1", "t.2"]


def test_an_empty_replan_solves_directly_with_the_accepted_results_at_hand(run: Run) -> None:
    plans = iter([["a", "b"], []])
    solver = Solver(failing())
    graph = create_recursive_solver(
        solver=solver,
        decomposer=lambda task, depth: next(plans) if depth == 0 else [],
        verifiers=[refusing("b")],
        policy=replanning(),
    )
    assert run(graph, "w")["output"] == "w!"
    assert solver.tasks[-1].id == "t"
    assert [(given.task_id, given.text) for given in solver.tasks[-1].inputs] == [("t.1", "a!")]


def test_a_twice_bad_replan_solves_directly_and_keeps_what_was_accepted(run: Run) -> None:
    plans = iter([["a", "b"], ["w"], ["a"]])
    graph = create_recursive_solver(
        solver=failing("w"),
        decomposer=lambda task, depth: next(plans) if depth == 0 else [],
        verifiers=[refusing("b")],
        policy=replanning(),
    )
    result = run(graph, "w")
    assert result["halt"].type == "task_failed"
    assert [(part.task_id, part.text, part.verified) for part in result["partial"]] == [
        ("t.1", "a!", True),
        ("t.2", "b!", False),
    ]


def test_a_failed_report_or_a_validators_error_is_not_replanned(run: Run) -> None:
    planned: list[str] = []

    def decomposer(task: Task, depth: int) -> list[str]:
        planned.append(task.id)
        return ["a", "b"] if depth == 0 else []

    for parts in (
        {"solver": failing("b")},
        {"solver": Solver(), "verifiers": [lambda task: None if task.brief.objective == "b" else True]},
        {"solver": lambda task: TaskReport(summary="no", outcome="failed") if "b" in str(task) else "x"},
    ):
        planned.clear()
        result = run(create_recursive_solver(**parts, decomposer=decomposer, policy=replanning()), "w")
        assert result["halt"].type == "child_failed"
        assert planned.count("t") == 1


def test_max_replans_0_fails_at_once(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        decomposer=split({"w": ["a"]}),
        verifiers=[refusing("a")],
        policy=replanning(max_replans=0),
    )
    assert run(graph, "w")["halt"].type == "child_failed"


def test_several_hopeless_children_are_closed_together(run: Run) -> None:
    for mode in ("fail_fast", "replan", "best_effort"):
        graph = create_recursive_solver(
            solver=failing("a", "b", "c"),
            decomposer=split({"w": ["a", "b", "c"]}),
            policy=SolvePolicy(on_child_failure=mode),
        )
        assert run(graph, "w")["halt"].type == "child_failed"


def test_a_new_attempt_may_replan_again(run: Run) -> None:
    plans = iter([["a1", "bad1"], ["a2"], ["a3", "bad2"], ["a4"]])
    graph = create_recursive_solver(
        solver=Solver(),
        decomposer=lambda task, depth: next(plans) if depth == 0 else [],
        atomizer=lambda task, depth: depth > 0,
        aggregator=lambda task: f"of {task.id}",
        verifiers=[
            lambda task, attempt: (
                reject(f"no {attempt}")
                if task.brief.objective.startswith("bad") or (task.depth == 0 and attempt < 3)
                else accept()
            )
        ],
        policy=SolvePolicy(on_child_failure="replan", max_fixes_total=20, stall_window=0),
    )
    assert run(graph, "w")["output"] == "of t_fix_2"


# Order.


def test_sequential_children_run_one_after_another(run: Run) -> None:
    active: list[str] = []
    overlaps: list[list[str]] = []

    def solver(task: Task) -> str:
        active.append(task.id)
        time.sleep(0.01)
        overlaps.append(list(active))
        active.remove(task.id)
        return "x"

    graph = create_recursive_solver(
        solver=solver,
        decomposer=split({"w": [SubTask("c", [2]), "b", "a"], "b": ["d", "e"]}),
        aggregator=lambda: "y",
        policy=SolvePolicy(sequential_children=True),
    )
    run(graph, "w")
    assert [entry[0] for entry in overlaps] == ["t.2.1", "t.2.2", "t.3", "t.1"]
    assert all(len(entry) == 1 for entry in overlaps)
