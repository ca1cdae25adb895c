"""REPLAN_CURRENT: what is accepted stays, the rest is planned anew, once per attempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from langgraph_recursive.state.errors import InvalidInputError
from review_kit import CONFIG, Tree, brief, decide

Run = Callable[..., dict[str, Any]]


def test_numbers_go_on_and_accepted_children_are_kept_and_shown(run: Run) -> None:
    shown: list[Any] = []

    def decompose(task: Any, depth: int) -> list[str]:
        shown.append([item.text for item in task.inputs])
        return ["a", "b"] if len(shown) == 1 else ["c", "d"]

    tree = Tree({"job": []}, {"t.2": "REPLAN_CURRENT"}, bad=["t.2"], decomposer=decompose)
    assert run(tree.graph, "job", CONFIG)["output"] == "t.1+t.3+t.4"
    assert shown == [[], ["t.1"]]
    assert tree.asked["t.1"] == 1


def test_it_opens_a_new_quota(run: Run) -> None:
    plans = {"job": [["a", "b", "c"], ["d", "e", "f"]]}
    tree = Tree(plans, {"t.3": "REPLAN_CURRENT"}, bad=["t.3"], max_children=3)
    assert run(tree.graph, "job", CONFIG)["success"]
    assert tree.ctx("t.4").places_left == 0


@pytest.mark.parametrize("replans", [0, 1, 2])
def test_max_replans_binds_every_reviewer(run: Run, replans: int) -> None:
    plans = {"job": [["a"], ["b"], ["c"], ["d"]]}
    reviews = {f"t.{number}": "REPLAN_CURRENT" for number in range(1, replans + 1)}
    tree = Tree(plans, reviews, bad=["t.1", "t.2", "t.3", "t.4"], max_replans=replans, max_revisions=0)
    assert run(tree.graph, "job", CONFIG)["halt"].type == "child_failed"
    assert tree.ran == [f"t.{number}" for number in range(1, replans + 2)]
    assert tree.ctx(f"t.{replans + 1}").allowed == {"FAIL"}


def test_a_plan_equal_to_the_old_one_fails(run: Run) -> None:
    tree = Tree({"job": [["a", "b"], ["a", "b"]]}, {"t.2": "REPLAN_CURRENT"}, bad=["t.2"])
    result = run(tree.graph, "job", CONFIG)
    assert (result["halt"].type, tree.ran) == ("child_failed", ["t.1", "t.2"])


def test_an_empty_plan_solves_directly_with_what_was_accepted(run: Run) -> None:
    tree = Tree({"job": [["a", "b"], []]}, {"t.2": "REPLAN_CURRENT"}, bad=["t.2"])
    assert run(tree.graph, "job", CONFIG)["output"] == "t"
    assert [item.text for item in tree.task("t").inputs] == ["t.1"]


def test_approved_actions_run_before_the_task_is_planned_anew(run: Run) -> None:
    reviews = {"t.1": decide("DESCEND_AGAIN", task=brief("more")), "t.2": "REPLAN_CURRENT"}
    tree = Tree({"job": [["a", "b"], ["c"]]}, reviews, bad=["t.2"])
    assert run(tree.graph, "job", CONFIG)["output"] == "t.1+t.3+t.4"
    assert tree.ran == ["t.1", "t.2", "t.3", "t.4"]


def test_it_needs_an_answer_to_replan_from(run: Run) -> None:
    tree = Tree({"job": ["a"]}, answers={"t.1": RuntimeError("x")})
    run(tree.graph, "job", CONFIG)
    assert "REPLAN_CURRENT" not in tree.ctx("t.1").allowed


@pytest.mark.parametrize("option", ["fail_fast", "replan"])
def test_on_child_failure_configures_the_rule_based_reviewer_only(option: str) -> None:
    with pytest.raises(InvalidInputError, match="on_child_failure"):
        Tree({}, on_child_failure=option)
