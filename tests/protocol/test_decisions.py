"""The documented effect of each of the seven decisions, in whole runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from langgraph_recursive.state.errors import ComponentError
from langgraph_recursive.state.task_state import TaskState
from review_kit import CONFIG, Tree, brief, decide, partial, suggesting

Run = Callable[..., dict[str, Any]]
JOB = {"job": ["a", "b"]}


class TestAcceptRefine:
    def test_the_suggested_task_becomes_a_direct_child_of_the_parent(self, run: Run) -> None:
        answers = {"t.1": suggesting("a", "REFINE", brief("dig deeper"))}
        tree = Tree(JOB, {"t.1": "ACCEPT_REFINE"}, answers=answers)
        assert run(tree.graph, "job", CONFIG)["output"] == "a+t.2+t.3"
        assert tree.task("t.3").brief == brief("dig deeper")
        assert tree.task("t.3").parent_id == "t"
        assert tree.state.reviews[0].approved_next_task == brief("dig deeper")

    def test_the_reviewers_own_brief_takes_the_place_of_the_suggestion(self, run: Run) -> None:
        answers = {"t.1": suggesting("a", "DESCEND", brief("dig deeper"))}
        tree = Tree(JOB, {"t.1": decide("ACCEPT_REFINE", task=brief("dig wider"))}, answers=answers)
        run(tree.graph, "job", CONFIG)
        assert tree.task("t.3").brief == brief("dig wider")

    @pytest.mark.parametrize("direction", ["ASCEND", "NONE"])
    def test_without_a_suggestion_there_is_nothing_to_accept(self, direction: str) -> None:
        answers = {"t.1": suggesting("a", direction, None)}
        tree = Tree(JOB, {"t.1": decide("ACCEPT_REFINE", task=brief("x"))}, answers=answers)
        with pytest.raises(ComponentError, match=r"ACCEPT_REFINE is not allowed on t\.1"):
            tree.graph.invoke("job", CONFIG)


class TestRejectRefine:
    def test_the_suggestion_is_not_followed_and_the_parent_goes_on(self, run: Run) -> None:
        answers = {"t.1": suggesting("a", "REFINE", brief("dig deeper"))}
        tree = Tree(JOB, {"t.1": "REJECT_REFINE"}, answers=answers)
        assert run(tree.graph, "job", CONFIG)["output"] == "a+t.2"
        assert tree.decisions == [("t.1", "REJECT_REFINE"), ("t.2", "REJECT_REFINE")]


class TestReviseChild:
    def test_the_same_child_goes_on_without_a_new_place(self, run: Run) -> None:
        tree = Tree(JOB, {"t.1": "REVISE_CHILD"}, max_children=2)
        assert run(tree.graph, "job", CONFIG)["output"] == "t.1_fix_1+t.2"
        assert tree.ctx("t.1_fix_1").places_left == tree.ctx("t.1").places_left == 0


class TestDescendAgain:
    def test_one_more_direct_child(self, run: Run) -> None:
        tree = Tree(JOB, {"t.2": decide("DESCEND_AGAIN", task=brief("c"))})
        assert run(tree.graph, "job", CONFIG)["output"] == "t.1+t.2+t.3"
        assert tree.reviewed == ["t.1", "t.2", "t.3"]

    @pytest.mark.parametrize(
        ("task", "fault"),
        [
            (None, "needs approved_next_task"),
            (brief("a"), "repeats another sub-task"),
            (brief("job"), "repeats the task itself"),
        ],
    )
    def test_a_brief_that_is_missing_or_repeats_is_refused(self, task: Any, fault: str) -> None:
        tree = Tree(JOB, {"t.2": decide("DESCEND_AGAIN", task=task)})
        with pytest.raises(ComponentError, match=fault):
            tree.graph.invoke("job", CONFIG)

    def test_a_brief_over_its_bound_with_the_inherited_constraints_is_refused(self) -> None:
        child = brief("a", constraints=["x" * 9_000])
        tree = Tree({"job": [child]}, {"t.1": decide("REVISE_CHILD", task=brief("a", constraints=["y" * 9_000]))})
        with pytest.raises(ComponentError, match="at most 16000"):
            tree.graph.invoke("job", CONFIG)


class TestReplanCurrent:
    def test_only_the_direct_parent_plans_anew(self, run: Run) -> None:
        plans = {"job": ["mid", "z"], "mid": [["a", "b"], ["c"]]}
        tree = Tree(plans, {"t.1.1": "REPLAN_CURRENT"}, bad=["t.1.1"])
        assert run(tree.graph, "job", CONFIG)["output"] == "t.1.2+t.1.3+t.2"
        assert tree.state.replans == 0

    def test_what_the_verdict_says_cannot_be_changed_by_the_reviewer(self, run: Run) -> None:
        forged = {"decision": "REPLAN_CURRENT", "reason": "r", "retry_from": {"task_id": "t", "at": "solve"}}
        plans = {"job": [["a"], ["b"]]}
        tree = Tree(plans, {"t.1": forged}, bad=["t.1"])
        run(tree.graph, "job", CONFIG)
        retry_from = tree.state.reviews[0].retry_from
        assert retry_from is not None
        assert retry_from == tree.seen[0][1].retry_from
        assert retry_from.task_id == "t.1"


class TestAscend:
    def test_the_parent_is_completed_and_neither_its_parent_nor_its_sibling(self, run: Run) -> None:
        plans = {"job": ["mid", "z"], "mid": ["a"]}
        tree = Tree(plans, {"t.1.1": "ASCEND"})
        assert run(tree.graph, "job", CONFIG)["output"] == "t.1.1+t.2"
        assert tree.reviewed.count("t.2") == tree.reviewed.count("t.1") == 1


class TestFail:
    def test_the_parent_fails_and_the_grandparent_decides(self, run: Run) -> None:
        plans = {"job": [["mid", "z"], ["y"]], "mid": ["a"]}
        tree = Tree(plans, {"t.1.1": "FAIL", "t.1": "REVISE_CHILD"}, max_revisions=1)
        result = run(tree.graph, "job", CONFIG)
        assert result["output"] == "t.1_fix_1+t.2"
        assert tree.ctx("t.1").allowed == {"REVISE_CHILD", "FAIL"}
        report, verdict, _ = tree.seen[[report.child_task_id for report, _, _ in tree.seen].index("t.1")]
        assert (report.outcome, verdict.outcome) == ("failed", "failed")

    def test_the_root_halts_with_the_reason(self, run: Run) -> None:
        tree = Tree({"job": ["a"]}, {"t.1": decide("FAIL", "it cannot be mended")}, bad=["t.1"])
        halt = run(tree.graph, "job", CONFIG)["halt"]
        assert halt.type == "child_failed"
        assert halt.detail.endswith("it cannot be mended")
        assert halt.child.type == "recovery_exhausted"

    def test_under_best_effort_what_was_accepted_is_aggregated(self, run: Run) -> None:
        tree = Tree(JOB, {"t.2": "FAIL"}, bad=["t.2"], on_child_failure="best_effort")
        result = run(tree.graph, "job", CONFIG)
        assert (result["output"], result["report"].outcome, result["report"].missing) == ("t.1", "partial", ["t.2"])


class TestRules:
    """The rule-based reviewer (rules.md 6): the default, and what a child suggests creates nothing by itself."""

    def test_it_accepts_what_passed_and_follows_no_suggestion(self, run: Run) -> None:
        answers = {name: suggesting(name, "DESCEND", brief(f"more of {name}")) for name in ("t.1", "t.2")}
        tree = Tree(JOB, answers=answers, reviewer=None)
        assert run(tree.graph, "job", CONFIG)["output"] == "t.1+t.2"
        assert tree.decisions == [("t.1", "REJECT_REFINE"), ("t.2", "ASCEND")]

    def test_it_never_revises(self, run: Run) -> None:
        tree = Tree(JOB, reviewer=None, on_child_failure="replan", bad=["t.1"], max_revisions=1)
        run(tree.graph, "job", CONFIG)
        assert not any(decision == "REVISE_CHILD" for _, decision in tree.decisions)
        assert "t.1_fix_1" not in tree.ran


class TestForbidden:
    def test_a_functions_forbidden_decision_names_the_allowed_ones(self) -> None:
        tree = Tree(JOB, {"t.1": "ASCEND"})
        with pytest.raises(ComponentError, match=r"ASCEND is not allowed on t\.1 .*allowed are .*REJECT_REFINE"):
            tree.graph.invoke("job", CONFIG)

    def test_a_review_needs_a_reason(self) -> None:
        tree = Tree(JOB, {"t.1": decide("REJECT_REFINE", reason=" ")})
        with pytest.raises(ComponentError, match="needs a reason"):
            tree.graph.invoke("job", CONFIG)

    def test_a_partial_answer_is_rejected_whatever_the_validators_say(self, run: Run) -> None:
        tree = Tree({"job": ["a"]}, answers={"t.1": partial("half")})
        run(tree.graph, "job", CONFIG)
        assert tree.ctx("t.1").allowed == {"REVISE_CHILD", "REPLAN_CURRENT", "FAIL"}

    def test_the_framework_fills_in_who_reviews_what(self, run: Run) -> None:
        forged = {"decision": "REJECT_REFINE", "reason": "r", "parent_task_id": "x", "child_task_id": "y"}
        tree = Tree({"job": ["a"]}, {"t.1": forged})
        run(tree.graph, "job", CONFIG)
        [review] = tree.state.reviews
        assert (review.parent_task_id, review.child_task_id) == ("t", "t.1")


def test_reports_reviews_and_actions_have_one_increasing_sequence(run: Run) -> None:
    reviews = {"t.1": "REVISE_CHILD", "t.2": decide("DESCEND_AGAIN", task=brief("c"))}
    tree = Tree(JOB, reviews)
    run(tree.graph, "job", CONFIG)
    state: TaskState = tree.state
    numbers = [review.sequence for review in state.reviews]
    numbers += [result.report.sequence for result in state.children.values()]
    numbers += [report.sequence for report in state.report_history]
    assert len(set(numbers)) == len(numbers)
    assert sorted(review.sequence for review in state.reviews) == [review.sequence for review in state.reviews]
