"""Batches: each report is reviewed by itself, and what follows waits until all of them are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langgraph_recursive.state.decisions import ReviewLimits, applied, pending_results
from langgraph_recursive.state.task_state import TaskState
from review_kit import CONFIG, Tree, brief, decide

Run = Callable[..., dict[str, Any]]


def test_each_report_is_reviewed_by_itself_and_passed_ones_first(run: Run) -> None:
    tree = Tree({"job": [["a", "b", "c"], ["d"]]}, {"t.1": "REPLAN_CURRENT"}, bad=["t.1"])
    assert run(tree.graph, "job", CONFIG)["output"] == "t.2+t.3+t.4"
    assert tree.reviewed == ["t.2", "t.3", "t.1", "t.4"]
    assert tree.ctx("t.2").pending == ("t.2", "t.3", "t.1")
    assert tree.ctx("t.1").pending == ("t.1",)


def test_nothing_runs_while_a_report_is_pending(run: Run) -> None:
    tree = Tree({"job": ["a", "b"]}, {"t.1": decide("DESCEND_AGAIN", task=brief("c"))})
    run(tree.graph, "job", CONFIG)
    assert tree.ran == ["t.1", "t.2", "t.3"]
    assert [action.child_id for action in tree.ctx("t.2").next_actions] == ["t.3"]
    assert "ASCEND" not in tree.ctx("t.2").allowed


def test_a_replan_waits_until_the_batch_is_reviewed(run: Run) -> None:
    reviews = {"t.1": "REPLAN_CURRENT", "t.2": "REPLAN_CURRENT"}
    tree = Tree({"job": [["a", "b", "c"], ["d"]]}, reviews, bad=["t.1", "t.2"])
    assert run(tree.graph, "job", CONFIG)["output"] == "t.3+t.4"
    assert tree.decisions[1:3] == [("t.1", "REPLAN_CURRENT"), ("t.2", "REPLAN_CURRENT")]


def test_a_fail_clears_the_replans_of_its_batch(run: Run) -> None:
    tree = Tree({"job": [["a", "b"], ["d"]]}, {"t.1": "REPLAN_CURRENT", "t.2": "FAIL"}, bad=["t.1", "t.2"])
    assert run(tree.graph, "job", CONFIG)["halt"].type == "child_failed"
    assert tree.state.pending_replans == []
    assert tree.ran == ["t.1", "t.2"]


def test_an_approved_child_has_its_place_from_the_approval_on(run: Run) -> None:
    reviews = {f"t.{number}": decide("DESCEND_AGAIN", task=brief(f"more {number}")) for number in (1, 2)}
    tree = Tree({"job": ["a", "b", "c", "d"]}, reviews)
    run(tree.graph, "job", CONFIG)
    assert [tree.ctx(f"t.{number}").places_left for number in (1, 2, 3)] == [2, 1, 0]
    assert "DESCEND_AGAIN" in tree.ctx("t.2").allowed
    assert "DESCEND_AGAIN" not in tree.ctx("t.3").allowed


def test_two_hopeless_children_are_closed_by_one_fail_each_with_its_record(run: Run) -> None:
    answers = {"t.1": RuntimeError("one"), "t.2": RuntimeError("two")}
    tree = Tree({"job": ["a", "b"]}, {"t.1": "FAIL"}, answers=answers, max_revisions=0)
    assert run(tree.graph, "job", CONFIG)["halt"].type == "child_failed"
    assert tree.reviewed == ["t.1"]
    assert tree.decisions == [("t.1", "FAIL"), ("t.2", "FAIL")]
    assert "closed with t.1" in tree.state.reviews[1].reason


def test_hopeless_children_wait_for_those_that_can_be_helped(run: Run) -> None:
    answers = {"t.1": RuntimeError("one")}
    tree = Tree({"job": ["a", "b", "c"]}, {"t.2": "REPLAN_CURRENT"}, answers=answers, bad=["t.2"], max_revisions=0)
    run(tree.graph, "job", CONFIG)
    assert tree.reviewed == ["t.3", "t.2", "t.1"]
    assert "FAIL" not in tree.ctx("t.2").allowed
    assert tree.ctx("t.1").allowed == {"FAIL"}


def test_a_report_that_may_only_fail_waits_for_open_actions(run: Run) -> None:
    answers = {"t.1": RuntimeError("one")}
    reviews = {"t.2": decide("DESCEND_AGAIN", task=brief("c")), "t.1": "FAIL"}
    tree = Tree({"job": ["a", "b"]}, reviews, answers=answers, max_revisions=0)
    result = run(tree.graph, "job", CONFIG)
    assert tree.ran == ["t.1", "t.2", "t.3"]
    assert tree.reviewed == ["t.2", "t.3", "t.1"]
    assert {part.text for part in result["partial"]} == {"t.2", "t.3"}


def test_a_pending_report_is_ordered_by_what_can_be_done_about_it() -> None:
    tree = Tree(
        {"job": ["a", "b", "c"]},
        {"t.2": "REPLAN_CURRENT"},
        answers={"t.1": RuntimeError("x")},
        bad=["t.2"],
        max_revisions=0,
    )
    tree.graph.invoke("job", CONFIG)
    state = tree.state.model_copy(update={"reviews": []})
    limits = ReviewLimits(max_children=6, max_replans=1, max_revisions=0)
    assert [result.id for result in pending_results(state, limits)] == ["t.3", "t.2", "t.1"]


def test_a_decision_changes_a_copy_and_never_the_state_it_was_given() -> None:
    tree = Tree({"job": ["a"]}, bad=["t.1"])
    tree.graph.invoke("job", CONFIG)
    state: TaskState = tree.state
    before = state.model_dump_json()
    applied(state, state.children["t.1"], decide("REVISE_CHILD"))
    assert state.model_dump_json() == before
