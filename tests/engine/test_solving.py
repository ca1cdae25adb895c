"""How a task is solved (recursive-task-solver), and rules 10, 11, 16 and 25."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine_kit import Solver, ids, kinds, split
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.parts.atomizers import depth_based
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.brief import SubTask, TaskBrief
from langgraph_recursive.state.task import Task

Run = Callable[..., dict[str, Any]]


def brief(objective: str, **fields: Any) -> TaskBrief:
    return TaskBrief(objective=objective, reason="r", completion_criteria=["c"], expected_outputs=["o"], **fields)


def endless(task: Task, depth: int) -> list[str]:
    return [f"{task.brief.objective} {depth}{side}" for side in "lr"]


def test_at_max_depth_neither_atomizer_nor_decomposer_is_asked(run: Run) -> None:
    asked: list[int] = []

    def atomizer(task: Task, depth: int) -> bool:
        asked.append(depth)
        return False

    planned: list[int] = []

    def decomposer(task: Task, depth: int) -> list[str]:
        planned.append(depth)
        return endless(task, depth)

    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        atomizer=atomizer,
        decomposer=decomposer,
        aggregator=lambda task, results: "+".join(results),
        policy=SolvePolicy(max_depth=2),
    )
    result = run(graph, "big")
    assert result["output"] == "done+done+done+done"
    assert sorted(asked) == sorted(planned) == [0, 1, 1]
    assert sorted(solver.ids) == ["t.1.1", "t.1.2", "t.2.1", "t.2.2"]


def test_max_depth_0_solves_directly(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver, atomizer=lambda: False, decomposer=endless, policy=SolvePolicy(max_depth=0)
    )
    assert run(graph, "big")["output"] == "done"
    assert solver.ids == ["t"]


def test_the_atomizer_decides_before_the_decomposer_is_asked(run: Run) -> None:
    planned: list[str] = []
    graph = create_recursive_solver(
        solver=Solver(), atomizer=lambda task, depth: True, decomposer=lambda task: planned.append(task.id)
    )
    assert run(graph, "small")["output"] == "done"
    assert planned == []


def test_an_empty_plan_means_solve_directly(run: Run) -> None:
    empty: list[Any] = [[], None, (), "no list here"]
    for nothing in empty:
        solver = Solver()
        result = run(create_recursive_solver(solver=solver, decomposer=lambda task, _n=nothing: _n), "x")
        assert result["output"] == "done"
        assert solver.ids == ["t"]
        assert kinds(result) == ["SOLVED"]


def test_without_a_decomposer_every_task_is_solved_directly(run: Run) -> None:
    result = run(create_recursive_solver(solver=lambda task: str(task).upper()), "small")
    assert (result["output"], result["success"], result["verified"], result["halt"]) == ("SMALL", True, False, None)


def test_without_an_atomizer_depth_3_is_solved_directly(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        decomposer=lambda task, depth: [f"{task.brief.objective} {depth}"],
        aggregator=lambda task, results: results[0],
    )
    run(graph, "x")
    assert solver.ids == ["t.1.1.1"]


def test_without_an_aggregator_the_solver_combines_with_task_and_results_in_its_prompt(run: Run) -> None:
    solver = Solver(lambda task: f"<{task.brief.objective}>")
    result = run(create_recursive_solver(solver=solver, decomposer=split({"whole": ["left", "right"]})), "whole")
    combining = solver.tasks[-1]
    assert combining.id == "t"
    assert result["output"] == "<whole>"
    for text in ("whole", "left", "right", "<left>", "<right>"):
        assert text in str(combining)


def test_an_aggregator_gets_the_accepted_results_in_plan_order(run: Run) -> None:
    seen: list[Any] = []

    def aggregator(task: Task, results: list[Any]) -> str:
        seen.extend((answer.task_id, answer.task, str(answer), answer.report.outcome) for answer in results)
        return "all"

    graph = create_recursive_solver(
        solver=lambda task: f"{task.brief.objective}!",
        decomposer=split({"w": [SubTask("last", depends_on=[1]), "first", SubTask("mid", depends_on=[1])]}),
        aggregator=aggregator,
    )
    assert run(graph, "w")["output"] == "all"
    assert seen == [
        ("t.1", "last", "last!", "satisfied"),
        ("t.2", "first", "first!", "satisfied"),
        ("t.3", "mid", "mid!", "satisfied"),
    ]


def test_an_aggregator_may_hand_on_one_of_its_results(run: Run) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    graph = create_recursive_solver(
        solver=lambda task: "part",
        decomposer=split({"w": ["a", "b"]}),
        aggregator=lambda task, results: results[0],
        checkpointer=InMemorySaver(),
    )
    result = run(graph, "w", {"configurable": {"thread_id": "1"}})
    assert type(result["output"]) is str
    assert type(result["report"].outputs[0]["text"]) is str


def test_the_combined_answer_is_verified_once_for_each_attempt(run: Run) -> None:
    seen: list[tuple[str, str, int]] = []

    def verifier(task: Task, result: str, attempt: int) -> bool:
        seen.append((task.id, result, attempt))
        return True

    graph = create_recursive_solver(
        solver=lambda task: "part",
        decomposer=split({"w": ["a", "b"]}),
        aggregator=lambda task, results: "whole",
        verifiers=[verifier],
    )
    assert run(graph, "w")["verified"] is True
    assert sorted(seen) == [("t", "whole", 1), ("t.1", "part", 1), ("t.2", "part", 1)]


def test_a_callers_root_id_is_used_in_all_ids(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver, decomposer=split({"w": ["a", "b"]}), aggregator=lambda: "x", verifiers=[lambda result: False]
    )
    result = run(graph, {"task": "w", "task_id": "job-7"})
    assert result["halt"].type == "child_failed"
    assert {task_id.split(".")[0] for task_id in solver.ids} == {"job-7"}
    assert ids(result) == ["job-7"]


def test_a_childs_brief_names_its_origin_and_inherits_the_constraints(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        decomposer=split({"whole": ["a text", brief("a brief", constraints=["own"])]}),
        aggregator=lambda: "x",
    )
    run(graph, brief("whole", constraints=["never do harm"]))
    text, given = sorted(solver.tasks, key=lambda task: task.id)
    assert (text.brief.objective, text.brief.reason) == ("a text", "part of: whole")
    assert text.brief.completion_criteria == ["the objective is met"]
    assert text.brief.expected_outputs == ["the answer"]
    assert text.brief.constraints == ["never do harm"]
    assert given.brief.constraints == ["never do harm", "own"]
    assert "never do harm" in str(text)
    assert text.anchor.objective == given.anchor.objective == "whole"


def test_the_anchor_is_the_same_at_every_depth(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver, decomposer=split({"whole": ["a"], "a": ["b"], "b": ["c"]}), aggregator=lambda: "x"
    )
    run(graph, "whole")
    assert [task.id for task in solver.tasks] == ["t.1.1.1"]
    assert solver.tasks[0].anchor.objective == "whole"
    assert solver.tasks[0].depth == 3
    assert solver.tasks[0].parent_id == "t.1.1"


def test_the_spec_of_a_plain_text_is_the_text_itself(run: Run) -> None:
    solver = Solver()
    text = "  keep\n\nthis as it is: \u00e4 "
    run(create_recursive_solver(solver=solver), text)
    assert str(solver.tasks[0]) == text


def test_a_long_text_is_the_spec_in_full_and_its_anchor_a_marked_excerpt(run: Run) -> None:
    solver = Solver()
    text = "word " * 5_000
    run(create_recursive_solver(solver=solver), text)
    task = solver.tasks[0]
    assert task.spec == text
    assert "excerpt of 25000 characters, sha256 " in task.anchor.objective
    assert len(task.anchor.normalized()) <= 4_000


def test_usage_counts_calls_tasks_and_fixes_of_the_whole_tree(run: Run) -> None:
    rejected: set[str] = set()

    def once(task: Task) -> bool:
        new = task.root_ref not in rejected
        rejected.add(task.root_ref)
        return not new

    graph = create_recursive_solver(
        solver=lambda: "x", decomposer=split({"w": ["a", "b"]}), aggregator=lambda: "y", verifiers=[once]
    )
    usage = run(graph, "w")["usage"]
    assert (usage.tasks, usage.fixes) == (3, 3)
    # decomposer 3, solver 4, aggregator 2, verifier 6
    assert usage.calls == 15
    assert usage.model_calls == 0


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_depth_based_splits_above_its_depth_only(run: Run, depth: int) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver, atomizer=depth_based(depth), decomposer=endless, aggregator=lambda: "x"
    )
    run(graph, "w")
    assert len(solver.tasks) == 2**depth
