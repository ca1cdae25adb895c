"""REVISE_CHILD: one more attempt of the same child, from its original task, with all that is known against it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from langgraph_recursive.state.brief import SubTask
from langgraph_recursive.state.errors import ChangedBriefError
from langgraph_recursive.state.task_state import NextAction
from langgraph_recursive.state.verdict import accept, reject
from review_kit import CONFIG, Tree, brief, decide

Run = Callable[..., dict[str, Any]]


def test_it_is_the_next_fix_of_the_chain_and_its_children_hang_below_it(run: Run) -> None:
    plans: dict[str, Any] = {"job": ["x", "mid"], "mid": [["a"], ["b"]]}
    tree = Tree(plans, {"t.2.1": "REPLAN_CURRENT", "t.2": "REVISE_CHILD"}, bad=["t.2.1", "t.2.2"])
    run(tree.graph, "job", CONFIG)
    assert "t.2" in tree.reviewed
    plans = {"job": ["x", "mid"], "mid": [["a"], ["b"]]}
    tree = Tree(plans, {"t.2": "REVISE_CHILD"}, bad=["t.2.1"], max_replans=0)
    assert run(tree.graph, "job", CONFIG)["output"] == "t.1+t.2_fix_1.1"


def test_the_original_task_stands_in_it_once_with_all_failures_and_the_reviews_reason(run: Run) -> None:
    tree = Tree(
        {"job": ["write the guide"]},
        {"t.1_fix_1": decide("REVISE_CHILD", "name the price")},
        bad=["t.1", "t.1_fix_1"],
        max_attempts=2,
    )
    assert run(tree.graph, "job", CONFIG)["output"] == "t.1_fix_2"
    revised = tree.task("t.1_fix_2")
    assert revised.root_spec == "write the guide"
    assert revised.spec.count("\nwrite the guide\n") == 1
    assert [failure.attempt for failure in revised.prior_failures] == [1, 2, 2]
    assert [failure.justification for failure in revised.prior_failures] == [
        "defect 1 of write the guide",
        "defect 2 of write the guide",
        "name the price",
    ]
    assert all(text in revised.spec for text in ("defect 1", "defect 2", "name the price"))


def test_exactly_one_attempt_is_granted(run: Run) -> None:
    bad = ["t.1", "t.1_fix_1", "t.1_fix_2"]
    tree = Tree({"job": ["a"]}, {"t.1": "REVISE_CHILD", "t.1_fix_1": "REVISE_CHILD"}, bad=bad, max_revisions=2)
    run(tree.graph, "job", CONFIG)
    assert tree.ran == ["t.1", "t.1_fix_1", "t.1_fix_2"]


def test_max_revisions_is_the_limit(run: Run) -> None:
    tree = Tree({"job": ["a"]}, {"t.1": "REVISE_CHILD"}, bad=["t.1", "t.1_fix_1"])
    run(tree.graph, "job", CONFIG)
    assert "REVISE_CHILD" in tree.ctx("t.1").allowed
    assert "REVISE_CHILD" not in tree.ctx("t.1_fix_1").allowed


def test_it_counts_in_max_fixes_total(run: Run) -> None:
    reviews = {"t.1": "REVISE_CHILD", "t.2": "REPLAN_CURRENT"}
    tree = Tree({"job": ["a", "b"]}, reviews, bad=["t.1", "t.2"], max_fixes_total=1)
    result = run(tree.graph, "job", CONFIG)
    assert "REVISE_CHILD" not in tree.ctx("t.2").allowed
    assert result["usage"].fixes == 1


def test_a_stall_allows_no_further_revision(run: Run) -> None:
    tree = Tree(
        {"job": ["a"]},
        {"t.1": "REVISE_CHILD"},
        verifiers=[lambda task, result, attempt: reject("the same") if task.depth else accept()],
        max_revisions=3,
    )
    run(tree.graph, "job", CONFIG)
    assert tree.ctx("t.1_fix_1").allowed == {"REPLAN_CURRENT", "FAIL"}


def test_the_old_report_is_history_and_the_new_one_is_validated_anew(run: Run) -> None:
    checked: list[str] = []

    def check(task: Any, result: str) -> bool:
        checked.append(task.id)
        return True

    tree = Tree({"job": ["a", "b"]}, {"t.1": "REVISE_CHILD"}, verifiers=[check])
    run(tree.graph, "job", CONFIG)
    assert [report.child_task_id for report in tree.state.report_history] == ["t.1"]
    assert tree.state.children["t.1"].report.child_task_id == "t.1_fix_1"
    assert sorted(checked) == ["t", "t.1", "t.1_fix_1", "t.2"]


class TestNewBrief:
    def test_it_is_added_once_as_revised_instructions(self, run: Run) -> None:
        tree = Tree({"job": ["a", "b"]}, {"t.1": decide("REVISE_CHILD", task=brief("a, in digits"))})
        run(tree.graph, "job", CONFIG)
        revised = tree.task("t.1_fix_1")
        assert (revised.brief, revised.revision, revised.root_spec) == (brief("a, in digits"), 2, "a")
        assert "# Revised instructions (version 2)" in revised.spec
        assert revised.spec.count("a, in digits") == 1

    def test_earlier_versions_are_kept(self, run: Run) -> None:
        reviews = {
            "t.1": decide("REVISE_CHILD", task=brief("second")),
            "t.1_fix_1": decide("REVISE_CHILD", task=brief("third")),
            "t.1_fix_2": "FAIL",
        }
        tree = Tree({"job": ["first"]}, reviews, bad=["t.1", "t.1_fix_1", "t.1_fix_2"], max_revisions=2)
        run(tree.graph, "job", CONFIG)
        left = tree.state.children["t.1"].left
        assert left is not None
        assert [version.objective for version in left.brief_history] == ["first", "second"]
        assert (left.attempt.brief.objective, left.attempt.revision) == ("third", 3)
        assert tree.state.plan[0].brief.objective == "third"

    def test_it_is_the_task_itself_if_none_was_ever_admitted(self, run: Run) -> None:
        tree = Tree(
            {"job": ["a"]},
            {"t.1": decide("REVISE_CHILD", task=brief("an allowed task"))},
            prechecks=[lambda task: task.spec != "a"],
        )
        run(tree.graph, "job", CONFIG)
        revised = tree.task("t.1_fix_1")
        assert revised.root_spec == str(brief("an allowed task"))
        assert "Revised instructions" not in revised.spec

    def test_constraints_are_only_ever_added(self, run: Run) -> None:
        first = brief("a", constraints=["no prices"])
        reviews = {"t.1": decide("REVISE_CHILD", task=brief("a2", constraints=["short"]))}
        tree = Tree({"job": [first]}, reviews)
        run(tree.graph, brief("job", constraints=["in French"]), CONFIG)
        assert tree.task("t.1_fix_1").brief.constraints == ["in French", "no prices", "short"]

    def test_another_brief_than_the_approved_one_is_refused(self) -> None:
        approved = brief("a")
        action = NextAction(kind="create", child_id="t.2", brief=approved, brief_hash=approved.hash)
        action.launches(brief(" a "))
        with pytest.raises(ChangedBriefError) as caught:
            action.launches(brief("b"))
        assert caught.value.code == "changed_brief"


class TestDependents:
    PLAN = ("a", SubTask("b", [0]), SubTask("c", [1]))

    def test_they_run_again_with_the_new_result_and_no_failure(self, run: Run) -> None:
        tree = Tree({"job": list(self.PLAN)}, {"t.1": "REVISE_CHILD"})
        assert run(tree.graph, "job", CONFIG)["output"] == "t.1_fix_1+t.2_fix_1+t.3_fix_1"
        rerun = tree.task("t.2_fix_1")
        assert [item.text for item in rerun.inputs] == ["t.1_fix_1"]
        assert rerun.prior_failures == []
        assert [report.child_task_id for report in tree.state.report_history] == ["t.1", "t.2", "t.3"]

    def test_a_rerun_does_not_count_as_an_attempt(self, run: Run) -> None:
        tree = Tree({"job": list(self.PLAN)}, {"t.1": "REVISE_CHILD"}, bad=["t.2_fix_1"], max_attempts=2)
        assert run(tree.graph, "job", CONFIG)["output"] == "t.1_fix_1+t.2_fix_2+t.3_fix_1"

    def test_a_rerun_waits_until_its_dependency_passed(self, run: Run) -> None:
        tree = Tree({"job": list(self.PLAN)}, {"t.1": "REVISE_CHILD", "t.1_fix_1": "FAIL"}, bad=["t.1_fix_1"])
        run(tree.graph, "job", CONFIG)
        assert tree.ran == ["t.1", "t.1_fix_1", "t.2", "t.3"]
