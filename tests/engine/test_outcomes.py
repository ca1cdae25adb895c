"""The ends of a run, row by row, and what is verified (rules 5 to 9)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from engine_kit import Solver, split
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.parts.verifiers import always_accept
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.report import TaskReport, Validation
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import ValidationCheck, Verdict, accept, reject

Run = Callable[..., dict[str, Any]]


def end(result: dict[str, Any]) -> tuple[bool, bool, str | None, str | None]:
    halt = result["halt"]
    return result["success"], result["verified"], halt and halt.type, result["output"]


def raising(task: Task) -> str:
    raise RuntimeError("it broke")


def test_all_required_checks_passed_with_a_real_one(run: Run) -> None:
    graph = create_recursive_solver(solver=Solver(), verifiers=[always_accept, lambda: True])
    assert end(run(graph, "w")) == (True, True, None, "done")


@pytest.mark.parametrize("verifiers", [(), [always_accept]])
def test_an_unchecked_answer_is_a_success_and_not_verified(run: Run, verifiers: Any) -> None:
    assert end(run(create_recursive_solver(solver=Solver(), verifiers=verifiers), "w")) == (True, False, None, "done")


@pytest.mark.parametrize("status", ["passed", "failed", "unknown"])
@pytest.mark.parametrize("others", [[], [always_accept]])
def test_optional_checks_alone_fail_nothing_and_verify_nothing(run: Run, status: Any, others: Any) -> None:
    def optional(task: Task) -> ValidationCheck:
        return ValidationCheck(check_id="style", status=status, required=False, justification="tabs")

    graph = create_recursive_solver(solver=Solver(), verifiers=[optional, *others])
    assert end(run(graph, "w")) == (True, False, None, "done")
    graph = create_recursive_solver(solver=Solver(), verifiers=[optional, lambda: True])
    assert end(run(graph, "w")) == (True, True, None, "done")


def test_prechecks_never_make_an_answer_verified(run: Run) -> None:
    graph = create_recursive_solver(solver=Solver(), prechecks=[lambda task: True])
    assert run(graph, "w")["verified"] is False


def test_verified_is_about_the_roots_final_verdict(run: Run) -> None:
    graph = create_recursive_solver(
        solver=Solver(),
        decomposer=split({"w": ["a"]}),
        aggregator=lambda: "x",
        verifiers=[lambda task: accept().model_copy(update={"checked": task.depth > 0})],
    )
    assert end(run(graph, "w")) == (True, False, None, "x")


def test_best_effort_succeeds_with_children_missing(run: Run) -> None:
    graph = create_recursive_solver(
        solver=lambda task: raising(task) if "b" in str(task) else "done",
        decomposer=split({"w": ["a", "b", "c"]}),
        aggregator=lambda task, results, missing: f"{len(results)} without {dict(missing)}",
        verifiers=[lambda: True],
        policy=SolvePolicy(on_child_failure="best_effort"),
    )
    result = run(graph, "w")
    assert end(result) == (True, True, None, "2 without {'t.2': 'b'}")
    assert result["report"].outcome == "partial"
    assert result["report"].missing == ["t.2"]


def test_stalled(run: Run) -> None:
    result = run(create_recursive_solver(solver=Solver(), verifiers=[lambda: reject("no")]), "w")
    assert end(result) == (False, False, "recovery_stalled", None)
    assert [part.text for part in result["partial"]] == ["done"]


def test_exhausted(run: Run) -> None:
    result = run(create_recursive_solver(solver=Solver(), verifiers=[lambda attempt: reject(f"no {attempt}")]), "w")
    assert end(result) == (False, False, "recovery_exhausted", None)
    assert [part.text for part in result["partial"]] == ["done"]


def test_a_rejected_answer_is_partial_with_its_failures_as_open_issues(run: Run) -> None:
    result = run(create_recursive_solver(solver=Solver(), verifiers=[lambda: reject("too thin")]), "w")
    assert (result["report"].outcome, result["verdict"].outcome) == ("partial", "failed")
    assert any("too thin" in issue for issue in result["report"].remaining_issues)


def test_a_solver_that_raises_at_the_root_is_task_failed_with_type_and_message(run: Run) -> None:
    result = run(create_recursive_solver(solver=raising), "w")
    assert end(result) == (False, False, "task_failed", None)
    assert result["halt"].error_type == "RuntimeError"
    assert "it broke" in result["halt"].detail
    assert result["report"].outcome == "failed"
    assert result["verdict"].outcome == "failed"
    assert result["partial"] == []


def test_a_solver_that_raises_in_a_child_is_a_failed_report(run: Run) -> None:
    graph = create_recursive_solver(
        solver=lambda task: raising(task) if task.id == "t.2" else "done",
        decomposer=split({"w": ["a", "b"]}),
        policy=SolvePolicy(sequential_children=True),
    )
    result = run(graph, "w")
    assert end(result) == (False, False, "child_failed", None)
    assert (result["halt"].child.type, result["halt"].child.task_id) == ("task_failed", "t.2")
    assert "RuntimeError: it broke" in result["halt"].child.detail
    assert [(part.task_id, part.verified) for part in result["partial"]] == [("t.1", False)]


@pytest.mark.parametrize("part", ["decomposer", "atomizer", "aggregator"])
def test_another_part_that_raises_is_task_failed(run: Run, part: str) -> None:
    parts: dict[str, Any] = {"decomposer": split({"w": ["a"]}), "solver": Solver(), "aggregator": lambda: "x"}
    result = run(create_recursive_solver(**{**parts, part: raising}), "w")
    assert end(result) == (False, False, "task_failed", None)
    assert "RuntimeError: it broke" in result["halt"].detail


def test_a_rejected_report_of_a_component_is_task_failed(run: Run) -> None:
    report = TaskReport(summary="could not", outcome="failed", remaining_issues=["no access"])
    result = run(create_recursive_solver(solver=lambda: report, verifiers=[lambda: True]), "w")
    assert end(result) == (False, False, "task_failed", None)
    assert "could not" in result["halt"].detail


@pytest.mark.parametrize("broken", [lambda: None, lambda: Verdict(), raising, lambda: Verdict(error="no judge")])
def test_a_validator_that_errs_or_says_nothing_halts_and_the_solver_is_not_called_again(run: Run, broken: Any) -> None:
    solver = Solver()
    result = run(create_recursive_solver(solver=solver, verifiers=[lambda: True, broken]), "w")
    assert end(result) == (False, False, "validator_error", None)
    assert len(solver.tasks) == 1
    assert result["verdict"].outcome == "error"
    assert result["verdict"].retry_from is None
    assert [attempt.outcome for attempt in result["attempts"]] == ["error"]


def test_error_wins_over_failed(run: Run) -> None:
    graph = create_recursive_solver(solver=Solver(), verifiers=[lambda: False, lambda: None])
    assert run(graph, "w")["halt"].type == "validator_error"


def test_an_unfinished_answer_never_counts_as_success(run: Run) -> None:
    report = TaskReport(
        summary="half",
        outcome="partial",
        validation=Validation(open_issues=["the rest"]),
        outputs=[{"text": "half"}],
    )
    for verifiers in ((), [lambda: True]):
        solver = Solver(lambda task: report)
        result = run(create_recursive_solver(solver=solver, verifiers=verifiers), "w")
        assert not result["success"]
        assert result["verdict"].checks[-1].check_id == "outcome"
        assert "the rest" in str(solver.tasks[-1])


def test_nothing_an_executor_says_about_itself_passes_a_check(run: Run) -> None:
    report = TaskReport(
        summary="all good", outcome="satisfied", validation=Validation(hard_passed=True), outputs=[{"text": "x"}]
    )
    assert not run(create_recursive_solver(solver=lambda: report, verifiers=[lambda: False]), "w")["success"]


def test_a_refused_spec_ends_the_task_before_any_call(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(solver=solver, prechecks=[lambda task: reject("out of scope")])
    result = run(graph, "w")
    assert end(result) == (False, False, "precheck_failed", None)
    assert "out of scope" in result["halt"].detail
    assert solver.tasks == []


def test_a_precheck_that_errs_is_validator_error(run: Run) -> None:
    for broken in (raising, lambda: None):
        result = run(create_recursive_solver(solver=Solver(), prechecks=[broken]), "w")
        assert end(result) == (False, False, "validator_error", None)


def test_a_precheck_refuses_a_child_without_touching_its_siblings_results(run: Run) -> None:
    graph = create_recursive_solver(
        solver=Solver(),
        decomposer=split({"w": ["a", "b"]}),
        prechecks=[lambda task: task.brief.objective != "b"],
        policy=SolvePolicy(sequential_children=True),
    )
    result = run(graph, "w")
    assert result["halt"].child.type == "precheck_failed"
    assert [part.task_id for part in result["partial"]] == ["t.1"]


def test_a_composite_task_ended_by_fail_reports_failed_even_if_parts_finished(run: Run) -> None:
    graph = create_recursive_solver(
        solver=Solver(),
        decomposer=split({"w": ["a", "b"]}),
        verifiers=[lambda task: task.id == "t.1"],
        policy=SolvePolicy(max_attempts=1, sequential_children=True),
    )
    result = run(graph, "w")
    assert (result["report"].outcome, result["verdict"].outcome) == ("failed", "failed")
    assert result["verdict"].checks == []
    assert [(part.task_id, part.verified) for part in result["partial"]] == [("t.1", True), ("t.2", False)]


def test_a_bool_and_a_bare_check_are_verdicts(run: Run) -> None:
    check = ValidationCheck(check_id="c", status="passed")
    for verdict in (True, check, [check], "ACCEPT"):
        assert run(create_recursive_solver(solver=Solver(), verifiers=[lambda task, _v=verdict: _v]), "w")["verified"]


def test_a_halts_message_says_so_and_an_answers_is_the_answer(run: Run) -> None:
    good = run(create_recursive_solver(solver=Solver(), name="author"), "w")["messages"][-1]
    bad = run(create_recursive_solver(solver=raising, name="author"), "w")["messages"][-1]
    assert (good.type, good.name, good.content) == ("ai", "author", "done")
    assert bad.content.startswith("No accepted answer: task_failed.")


def test_the_whole_result_is_json(run: Run) -> None:
    result = run(create_recursive_solver(solver=Solver(), verifiers=[lambda: False]), "w")
    for value in result.values():
        entries = value if isinstance(value, list) else [value]
        json.dumps([entry.model_dump(mode="json") if hasattr(entry, "model_dump") else entry for entry in entries])
