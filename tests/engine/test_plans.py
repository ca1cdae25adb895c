"""Plans and their guards: asked again once with the reason, then solved directly, and the trace says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine_kit import Solver, kinds, split
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.brief import SubTask
from langgraph_recursive.state.task import Task

Run = Callable[..., dict[str, Any]]

BAD_PLANS: dict[str, tuple[list[Any], str]] = {
    "a circle": ([SubTask("a", [1]), SubTask("b", [0])], "form a circle"),
    "itself": ([SubTask("a", [0]), "b"], "form a circle"),
    "an unknown index": ([SubTask("a", [5]), "b"], "depends on 5"),
    "a negative index": ([SubTask("a", [-1]), "b"], "depends on -1"),
    "too many": ([f"part {number}" for number in range(7)], "has 7 sub-tasks, at most 6"),
    "the parent": (["the WHOLE task.", "b"], "repeats the task itself"),
    "a sibling": (["part one", "Part  One!"], "repeats another sub-task"),
    "too long": (["x" * 20_000, "b"], "does not make a brief"),
}


@pytest.mark.parametrize("kind", BAD_PLANS)
def test_a_bad_plan_is_asked_for_again_with_the_reason_then_solved_directly(run: Run, kind: str) -> None:
    plan, why = BAD_PLANS[kind]
    complaints: list[str | None] = []

    def decomposer(task: Task, depth: int, *, complaint: str | None) -> list[Any]:
        complaints.append(complaint)
        return plan

    solver = Solver()
    result = run(create_recursive_solver(solver=solver, decomposer=decomposer), "The whole task")
    assert complaints[0] is None
    assert complaints[1] is not None
    assert why in complaints[1]
    assert len(complaints) == 2
    assert solver.ids == ["t"]
    assert result["success"]
    assert kinds(result) == ["DECOMPOSED", "SOLVED"]
    assert why in result["traces"][0].detail
    assert "solved directly" in result["traces"][0].detail


def test_a_plan_that_is_sound_the_second_time_is_used(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        decomposer=lambda task, depth, complaint: (["a", "b"] if complaint else ["a", "a"]) if depth == 0 else [],
        aggregator=lambda: "x",
    )
    result = run(graph, "w")
    assert sorted(solver.ids) == ["t.1", "t.2"]
    assert kinds(result, "t") == ["DECOMPOSED", "AGGREGATED"]


@pytest.mark.parametrize("variant", ["grand", "GRAND", " grand. ", "Grand!", "gr\u0041nd".lower() + "?"])
def test_a_plan_may_not_repeat_an_ancestor_in_any_spelling(run: Run, variant: str) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        decomposer=split({"grand": ["mid"], "mid": ["low"], "low": [variant, "new"]}),
        atomizer=lambda task, depth: False,
        aggregator=lambda: "x",
    )
    run(graph, "grand")
    assert solver.ids == ["t.1.1"]


def test_a_cousin_may_be_repeated(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        decomposer=split({"w": ["a", "b"], "a": ["check"], "b": ["check"]}),
        aggregator=lambda: "x",
    )
    run(graph, "w")
    assert sorted(solver.ids) == ["t.1.1", "t.2.1"]


def test_a_decomposer_that_only_repeats_its_task_ends_at_once(run: Run) -> None:
    solver = Solver()
    result = run(create_recursive_solver(solver=solver, decomposer=lambda task: [task.brief.objective]), "again")
    assert (result["success"], solver.ids) == (True, ["t"])


def test_max_children_is_the_policys(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver, decomposer=split({"w": ["a", "b"]}), policy=SolvePolicy(max_children=1)
    )
    run(graph, "w")
    assert solver.ids == ["t"]


def test_a_dependency_named_twice_counts_once(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver, decomposer=split({"w": ["a", SubTask("b", [0, 0])]}), aggregator=lambda: "x"
    )
    run(graph, "w")
    assert [len(task.inputs) for task in solver.tasks] == [0, 1]


def test_sub_tasks_may_be_plain_data(run: Run) -> None:
    solver = Solver()
    plan = [
        {"task": "a", "depends_on": [1]},
        {"objective": "b", "reason": "r", "completion_criteria": ["c"], "expected_outputs": ["o"]},
    ]
    run(create_recursive_solver(solver=solver, decomposer=split({"w": plan}), aggregator=lambda: "x"), "w")
    assert solver.ids == ["t.2", "t.1"]


def test_the_trace_of_a_plan_lists_number_and_texts_cut_to_80(run: Run) -> None:
    graph = create_recursive_solver(solver=Solver(), decomposer=split({"w": ["a", "y" * 100]}), aggregator=lambda: "x")
    assert run(graph, "w")["traces"][0].detail == f"2: a; {'y' * 80}"
