"""ADR 021's five decisions, and rules 10 to 12, 16 to 20, at any depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine_kit import Solver, ids, kept, kinds, split
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.parts.prechecks import meta_spec
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import ValidationCheck, Verdict, accept, reject

Run = Callable[..., dict[str, Any]]

DEEP = {"w": ["a", "b"], "a": ["c"], "c": ["deep"]}


def numbered(until: int = 99) -> Callable[[Task, str, int], Verdict]:
    """Rejects each attempt with a defect of its own, until one."""
    return lambda task, result, attempt: accept() if attempt >= until else reject(f"defect {attempt} of {task.id}")


def at(objective: str, verdict: Callable[[Task, str, int], Verdict]) -> Callable[[Task, str, int], Verdict]:
    """Judges one task and accepts all others."""
    return lambda task, result, attempt: (
        verdict(task, result, attempt) if task.brief.objective == objective else accept()
    )


def test_ids_are_linear_at_depth_3_and_children_of_fixes_hang_below_the_fix(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        decomposer=split(DEEP),
        atomizer=lambda task, depth: False,
        aggregator=lambda task: f"of {task.id}",
        verifiers=[at("deep", numbered(4))],
        policy=SolvePolicy(max_attempts=4),
    )
    assert run(graph, "w")["success"]
    deep = sorted(task.id for task in solver.tasks if task.brief.objective == "deep")
    assert deep == ["t.1.1.1", "t.1.1.1_fix_1", "t.1.1.1_fix_2", "t.1.1.1_fix_3"]


def test_a_child_of_a_fix_is_named_after_the_fix(run: Run) -> None:
    plans = iter([["one", "two"], ["three"], ["four"]])
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        decomposer=lambda task, depth: next(plans) if depth == 1 else ["b", "mid"] if depth == 0 else [],
        atomizer=lambda task: task.brief.objective == "b",
        aggregator=lambda task: f"of {task.id}",
        verifiers=[at("mid", numbered(3))],
    )
    assert run(graph, "w")["success"]
    # The first fix re-aggregates, the second plans anew.
    assert sorted(solver.ids) == ["t.1", "t.2.1", "t.2.2", "t.2_fix_2.1"]


def test_the_root_spec_is_in_every_recovery_spec_exactly_once_and_verbatim(run: Run) -> None:
    solver = Solver()
    text = "Deliver  exactly\n\nthis: <evidence> \u00e4 # Task"
    graph = create_recursive_solver(solver=solver, verifiers=[numbered()], policy=SolvePolicy(max_attempts=5))
    run(graph, text)
    assert len(solver.tasks) == 5
    for task in solver.tasks[1:]:
        assert task.root_spec == text
        assert task.root_task_ref == "t"
        assert str(task).count(text) == 1
        assert [line for line in str(task).split("\n") if line == "# Task"] == ["# Task"]


def test_all_prior_failures_are_listed_with_their_attempts_numbers(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(solver=solver, verifiers=[numbered()], policy=SolvePolicy(max_attempts=4))
    result = run(graph, "w")
    last = solver.tasks[-1]
    assert [(failure.attempt, failure.justification) for failure in last.prior_failures] == [
        (1, "defect 1 of t"),
        (2, "defect 2 of t_fix_1"),
        (3, "defect 3 of t_fix_2"),
    ]
    for attempt in (1, 2, 3):
        assert f"- attempt {attempt}, verifier/answer, blocker: defect {attempt} of t" in str(last)
    assert [[failure.attempt for failure in attempt.failures] for attempt in result["attempts"]] == [[1], [2], [3], [4]]


def test_what_passed_is_listed_so_that_a_fix_does_not_undo_it(run: Run) -> None:
    def strict(task: Task, result: str, attempt: int) -> Verdict:
        return reject("too short") if attempt == 1 else accept()

    def polite(result: str) -> bool:
        return True

    solver = Solver()
    run(create_recursive_solver(solver=solver, verifiers=[strict, polite]), "w")
    assert solver.tasks[1].settled == ["polite/answer"]
    assert "# What already passed\n\n- polite/answer" in str(solver.tasks[1])


def test_failures_are_labelled_as_evidence_that_does_not_widen_the_task(run: Run) -> None:
    solver = Solver()
    run(create_recursive_solver(solver=solver, verifiers=[numbered(2)]), "w")
    assert "they do not widen the task" in str(solver.tasks[1])


def test_evidence_reaches_the_fix_verbatim(run: Run) -> None:
    tail = "FAILED tests/test_a.py::test_sum - assert 3 == 4\n  File a.py, line 12"

    def tests(attempt: int) -> Verdict:
        seen = [bounded(tail, label="stdout")]
        return reject("exit code 1", evidence=seen) if attempt == 1 else accept()

    solver = Solver()
    run(create_recursive_solver(solver=solver, verifiers=[tests]), "w")
    assert tail in str(solver.tasks[1])
    assert '<evidence attempt="1">' in str(solver.tasks[1])


def test_four_attempts_whose_evidence_quotes_the_spec_grow_linearly_and_pass_meta_spec(run: Run) -> None:
    intent = "Build the parser.\n" + "\n".join(f"- rule {number}: keep {'x' * 60}" for number in range(20))

    def quoting(task: Task, result: str, attempt: int) -> Verdict:
        if attempt == 4:
            return accept()
        checks = [
            ValidationCheck(check_id="kept", status="passed"),
            ValidationCheck(
                check_id="parser",
                status="failed",
                justification=f"failure {attempt} of what was asked:\n{task.spec}\nassert {attempt} == 0",
            ),
        ]
        return Verdict(checks=checks)

    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        verifiers=[quoting],
        prechecks=[meta_spec()],
        policy=SolvePolicy(max_attempts=4, max_evidence_chars=3_000),
    )
    result = run(graph, intent)
    assert result["success"]
    assert ids(result) == ["t", "t_fix_1", "t_fix_2", "t_fix_3"]
    specs = [str(task) for task in solver.tasks]
    for spec in specs[1:]:
        assert spec.startswith(f"# Task\n\n{intent}\n\n")
        outside = spec.split("# What failed so far")[0]
        assert outside.count(intent) == 1
        assert "- quoting/kept" in outside
    sizes = [len(spec) for spec in specs]
    assert max(sizes) < sizes[0] + 3_000 + 2_000


def test_over_the_size_limit_the_oldest_detail_goes_first_and_is_counted(run: Run) -> None:
    def talkative(task: Task, result: str, attempt: int) -> Verdict:
        return reject(f"headline {attempt}\n" + "\n".join(f"detail {attempt} {line:03}" for line in range(100)))

    solver = Solver()
    policy = SolvePolicy(max_attempts=4, max_evidence_chars=2_500)
    run(create_recursive_solver(solver=solver, verifiers=[talkative], policy=policy), "w")
    spec = str(solver.tasks[-1])
    for attempt in (1, 2, 3):
        assert f"- attempt {attempt}, talkative/answer, blocker: headline {attempt}" in spec
    assert "detail 3 000" in spec
    assert "detail 2 099" in spec
    assert "detail 2 000" not in spec
    assert "detail 1 " not in spec
    assert "characters of older evidence dropped]" in spec


def test_a_repeated_verdict_halts_before_another_fix_is_made(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver, verifiers=[lambda: reject("same")], policy=SolvePolicy(max_attempts=9)
    )
    result = run(graph, "w")
    assert result["halt"].type == "recovery_stalled"
    assert result["halt"].severity == "blocker"
    assert solver.ids == ["t", "t_fix_1"]
    assert result["usage"].fixes == 1
    assert kinds(result).count("RECOVERED") == 1


def test_the_stall_is_tested_before_exhaustion(run: Run) -> None:
    graph = create_recursive_solver(
        solver=Solver(), verifiers=[lambda: reject("same")], policy=SolvePolicy(max_attempts=2)
    )
    assert run(graph, "w")["halt"].type == "recovery_stalled"


def test_what_varies_by_itself_does_not_hide_a_repeat(run: Run) -> None:
    verdicts = {1: "1 failed in 0.12s at /tmp/abc123/x.py", 2: "1 failed in 3.4s at /tmp/zzz9/x.py"}
    graph = create_recursive_solver(solver=Solver(), verifiers=[lambda attempt: reject(verdicts[attempt])])
    assert run(graph, "w")["halt"].type == "recovery_stalled"


def test_a_different_number_is_a_different_defect(run: Run) -> None:
    graph = create_recursive_solver(solver=Solver(), verifiers=[lambda attempt: reject(f"expected 12, got {attempt}")])
    assert run(graph, "w")["halt"].type == "recovery_exhausted"


def test_a_judge_is_compared_by_its_failure_code_not_by_its_words(run: Run) -> None:
    same = create_recursive_solver(
        solver=Solver(), verifiers=[lambda attempt: reject("words " * attempt, failure_code="no-total")]
    )
    assert run(same, "w")["halt"].type == "recovery_stalled"
    other = create_recursive_solver(
        solver=Solver(), verifiers=[lambda attempt: reject("same words", failure_code=f"code-{attempt}")]
    )
    assert run(other, "w")["halt"].type == "recovery_exhausted"


@pytest.mark.parametrize(("window", "attempts"), [(0, 6), (1, 6), (2, 3)])
def test_a_window_of_2_finds_a_b_a(run: Run, window: int, attempts: int) -> None:
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver,
        verifiers=[lambda attempt: reject("A" if attempt % 2 else "B")],
        policy=SolvePolicy(max_attempts=6, stall_window=window),
    )
    halt = run(graph, "w")["halt"]
    assert len(solver.tasks) == attempts
    assert halt.type == ("recovery_stalled" if window == 2 else "recovery_exhausted")


def test_a_window_of_0_switches_the_stall_test_off(run: Run) -> None:
    solver = Solver()
    policy = SolvePolicy(max_attempts=5, stall_window=0)
    graph = create_recursive_solver(solver=solver, verifiers=[lambda: reject("same")], policy=policy)
    assert run(graph, "w")["halt"].type == "recovery_exhausted"
    assert len(solver.tasks) == 5


def test_warnings_are_recorded_fail_nothing_and_stay_out_of_the_stall(run: Run) -> None:
    def judge(attempt: int) -> Verdict:
        checks = [
            ValidationCheck(check_id="style", status="failed", required=False, justification="ugly"),
            ValidationCheck(check_id="sum", status="failed", justification=f"wrong by {attempt}"),
        ]
        return Verdict(checks=checks if attempt < 3 else checks[:1])

    result = run(create_recursive_solver(solver=Solver(), verifiers=[judge]), "w")
    assert result["success"]
    assert [[(f.check_id, f.severity) for f in attempt.failures] for attempt in result["attempts"]] == [
        [("style", "warning"), ("sum", "blocker")],
        [("style", "warning"), ("sum", "blocker")],
        [("style", "warning")],
    ]


def test_a_different_warning_does_not_hide_a_repeat(run: Run) -> None:
    def judge(attempt: int) -> Verdict:
        optional = ValidationCheck(check_id="style", status="failed", required=False, justification=f"ugly {attempt}")
        return Verdict(checks=[optional, ValidationCheck(check_id="sum", status="failed", justification="wrong")])

    assert run(create_recursive_solver(solver=Solver(), verifiers=[judge]), "w")["halt"].type == "recovery_stalled"


def test_unknown_is_recovered_like_failed(run: Run) -> None:
    def judge(attempt: int) -> Verdict:
        return Verdict(checks=[ValidationCheck(check_id="c", status="unknown" if attempt == 1 else "passed")])

    result = run(create_recursive_solver(solver=Solver(), verifiers=[judge]), "w")
    assert result["success"]
    assert [attempt.outcome for attempt in result["attempts"]] == ["unknown", "passed"]


def test_a_rejected_combination_is_first_combined_again_with_settled_children(run: Run) -> None:
    solver = Solver()
    combined: list[Task] = []

    def aggregator(task: Task, results: list[str]) -> str:
        combined.append(task)
        return f"whole {task.attempt} of {len(results)}"

    graph = create_recursive_solver(
        solver=solver,
        decomposer=split({"w": ["a", "b"]}),
        aggregator=aggregator,
        verifiers=[at("w", numbered(2))],
    )
    result = run(graph, "w")
    assert result["output"] == "whole 2 of 2"
    assert sorted(solver.ids) == ["t.1", "t.2"]
    assert [task.id for task in combined] == ["t", "t_fix_1"]
    assert "defect 1 of t" in str(combined[1])
    assert [attempt.start for attempt in result["attempts"]] == ["aggregate", "aggregate"]


def test_a_second_rejected_combination_is_planned_anew_with_all_failures_at_hand(run: Run) -> None:
    planned: list[Task] = []

    def decomposer(task: Task, depth: int) -> list[str]:
        if depth:
            return []
        planned.append(task)
        return [f"part {len(planned)}"]

    solver = Solver()
    asked: list[str] = []
    graph = create_recursive_solver(
        solver=solver,
        decomposer=decomposer,
        atomizer=lambda task, depth: kept(asked, task.id, depth > 0),
        aggregator=lambda task: f"of {task.id}",
        verifiers=[at("w", numbered(5))],
        policy=SolvePolicy(max_attempts=5),
    )
    result = run(graph, "w")
    assert result["output"] == "of t_fix_4"
    assert solver.ids == ["t.1", "t_fix_2.1", "t_fix_4.1"]
    assert [task.id for task in planned] == ["t", "t_fix_2", "t_fix_4"]
    assert "defect 1 of t" in str(planned[1])
    assert "defect 2 of t_fix_1" in str(planned[1])
    # The atomizer is asked once per task.
    assert asked.count("t") == 1
    assert not [task_id for task_id in asked if task_id.startswith("t_fix") and "." not in task_id]


def test_a_re_aggregation_that_fails_the_same_way_stalls_before_planning_anew(run: Run) -> None:
    planned: list[str] = []
    graph = create_recursive_solver(
        solver=Solver(),
        decomposer=lambda task, depth: kept(planned, task.id, ["a"]) if depth == 0 else [],
        aggregator=lambda: "whole",
        verifiers=[at("w", lambda task, result, attempt: reject("same"))],
    )
    assert run(graph, "w")["halt"].type == "recovery_stalled"
    assert planned == ["t"]


def test_a_fix_of_a_direct_answer_is_solved_directly(run: Run) -> None:
    planned: list[str] = []
    solver = Solver()
    graph = create_recursive_solver(
        solver=solver, decomposer=lambda task: planned.append(task.id), verifiers=[numbered(3)]
    )
    assert run(graph, "w")["success"]
    assert planned == ["t"]
    assert solver.ids == ["t", "t_fix_1", "t_fix_2"]


def test_every_attempt_passes_admit_fixes_and_re_aggregations_too(run: Run) -> None:
    checked: list[str] = []

    def precheck(task: Task) -> bool:
        checked.append(task.id)
        return True

    graph = create_recursive_solver(
        solver=Solver(),
        decomposer=split({"w": ["a"]}),
        aggregator=lambda task: task.id,
        verifiers=[at("w", numbered(3)), at("a", numbered(2))],
        prechecks=[precheck],
    )
    assert run(graph, "w")["success"]
    assert checked == ["t", "t.1", "t.1_fix_1", "t_fix_1", "t_fix_2", "t_fix_2.1", "t_fix_2.1_fix_1"]


def test_a_new_attempt_keeps_failures_attempts_traces_and_usage(run: Run) -> None:
    result = run(
        create_recursive_solver(
            solver=Solver(),
            decomposer=split({"w": ["a"]}),
            aggregator=lambda task: task.id,
            verifiers=[at("w", numbered(3))],
        ),
        "w",
    )
    assert kinds(result, "t") == ["DECOMPOSED", "AGGREGATED", "VERIFIED", "RECOVERED"]
    assert kinds(result, "t_fix_1") == ["AGGREGATED", "VERIFIED", "RECOVERED"]
    assert kinds(result, "t_fix_2") == ["DECOMPOSED", "AGGREGATED", "VERIFIED"]
    assert [attempt.outcome for attempt in result["attempts"]] == ["failed", "failed", "passed"]


def test_max_fixes_total_is_exact_for_the_whole_tree_under_parallel_children(run: Run) -> None:
    for limit in (0, 1, 3, 5):
        solver = Solver()
        graph = create_recursive_solver(
            solver=solver,
            decomposer=split({"w": list("abcdef")}),
            aggregator=lambda: "x",
            verifiers=[numbered()],
            policy=SolvePolicy(max_fixes_total=limit, max_attempts=9, on_child_failure="best_effort"),
        )
        result = run(graph, "w")
        assert len(solver.tasks) == 6 + limit
        assert result["usage"].fixes == limit


def test_max_attempts_1_leaves_every_retry_to_the_parent(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(solver=solver, verifiers=[numbered()], policy=SolvePolicy(max_attempts=1))
    result = run(graph, "w")
    assert result["halt"].type == "recovery_exhausted"
    assert solver.ids == ["t"]


def test_a_first_time_pass_and_a_fourth_attempt_pass_look_different(run: Run) -> None:
    first = run(create_recursive_solver(solver=Solver(), verifiers=[numbered(1)]), "w")
    fourth = run(
        create_recursive_solver(solver=Solver(), verifiers=[numbered(4)], policy=SolvePolicy(max_attempts=4)), "w"
    )
    assert [attempt.outcome for attempt in first["attempts"]] == ["passed"]
    assert [attempt.outcome for attempt in fourth["attempts"]] == ["failed", "failed", "failed", "passed"]


def test_retry_from_names_the_node_and_the_checks_that_did_not_pass(run: Run) -> None:
    verdict = run(create_recursive_solver(solver=Solver(), verifiers=[lambda: reject("x", check_id="c7")]), "w")[
        "verdict"
    ]
    assert (verdict.retry_from.task_id, verdict.retry_from.at) == ("t_fix_1", "solve")
    assert (verdict.retry_from.scope, verdict.retry_from.check_ids) == ("task", ["c7"])


def test_the_best_rejected_answer_is_kept_the_one_with_the_fewest_blockers(run: Run) -> None:
    blockers = {1: 3, 2: 1, 3: 2}

    def judge(attempt: int) -> Verdict:
        checks = [
            ValidationCheck(check_id=f"c{number}", status="failed", justification=f"{attempt}")
            for number in range(blockers[attempt])
        ]
        return Verdict(checks=checks)

    result = run(create_recursive_solver(solver=lambda task: f"try {task.attempt}", verifiers=[judge]), "w")
    assert result["output"] is None
    assert [part.text for part in result["partial"]] == ["try 2"]
