"""Goal states: computed, told as events, and in an order that the document allows."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import pytest

from langgraph_recursive.state.brief import SubTask
from langgraph_recursive.state.goal import GoalStatus, goal_path, goal_status
from langgraph_recursive.state.task_state import TaskState
from review_kit import CONFIG, Tree, brief, decide

# The document's picture; an ended task goes on only when it is revised.
ALLOWED = {
    "pending": {"in_progress"},
    "in_progress": {"waiting_children", "completed", "failed"},
    "waiting_children": {"pending_review"},
    "pending_review": {"in_progress", "completed", "failed"},
    "completed": {"in_progress"},
    "failed": {"in_progress"},
}


def told(tree: Tree) -> dict[str, list[str]]:
    """The goal states of each task of a run, by the first attempt's id."""
    goals: dict[str, list[str]] = defaultdict(lambda: ["pending"])
    for event in tree.graph.stream("job", CONFIG, stream_mode="custom"):
        if event["type"] == "goal_changed":
            goals[event["task_id"].split("_fix_")[0]].append(event["data"]["goal"])
    return dict(goals)


MID = {"job": ["mid", "z"], "mid": [["a", "b"], ["c"]]}
FAILING: dict[str, Any] = {"answers": {"t.1": RuntimeError("x")}}
RUNS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "accepted": ({"job": ["a", "b"]}, {}, {}),
    "ascend": ({"job": ["a"]}, {"t.1": "ASCEND"}, {}),
    "revised": ({"job": ["a", "b"]}, {"t.1": "REVISE_CHILD"}, {}),
    "added": ({"job": ["a", "b"]}, {"t.1": decide("DESCEND_AGAIN", task=brief("c"))}, {}),
    "replanned": (MID, {"t.1.1": "REPLAN_CURRENT"}, {"bad": ["t.1.1"]}),
    "failed": (
        MID,
        {"t.1.1": "FAIL"},
        {"bad": ["t.1.1"], "answers": {"t.1.2": RuntimeError("x")}, "max_revisions": 0, "max_replans": 0},
    ),
    "raised": ({"job": ["a", "b"]}, {"t.1": "REVISE_CHILD"}, FAILING),
    "tried again": ({"job": ["a", "b"]}, {}, {"bad": ["t", "t.1"], "max_attempts": 2}),
    "best effort": (
        {"job": ["a", SubTask("b", [0]), "c"]},
        {"t.1": "FAIL"},
        {"bad": ["t.1"], "on_child_failure": "best_effort"},
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_each_state_follows_one_that_the_document_allows(name: str) -> None:
    plans, reviews, options = RUNS[name]
    for task_id, goals in told(Tree(plans, reviews, **options)).items():
        for before, after in itertools.pairwise(goals):
            assert after in ALLOWED[before], (task_id, goals)
        assert goals[-1] in ("completed", "failed")


def test_a_parent_waits_reviews_and_goes_on() -> None:
    tree = Tree({"job": ["a", "b"]}, {"t.1": "REVISE_CHILD"})
    goals = told(tree)
    assert goals["t"] == [
        "pending",
        "in_progress",
        "waiting_children",
        "pending_review",
        "in_progress",
        "waiting_children",
        "pending_review",
        "in_progress",
        "completed",
    ]
    assert goals["t.1"] == ["pending", "in_progress", "completed", "in_progress", "completed"]
    assert goals["t.2"] == ["pending", "in_progress", "completed"]


def test_a_fail_fails_the_parent_and_not_its_own_parent() -> None:
    goals = told(Tree({"job": [["mid"], ["z"]], "mid": ["a"]}, {"t.1.1": "FAIL", "t.1": "REVISE_CHILD"}))
    assert goals["t.1"][:5] == ["pending", "in_progress", "waiting_children", "pending_review", "failed"]
    assert "failed" not in goals["t"]


def test_it_is_pending_review_while_a_part_of_the_batch_is_reviewed() -> None:
    tree = Tree({"job": ["a", "b"]}, {"t.1": decide("DESCEND_AGAIN", task=brief("c"))})
    found = []
    for chunk in tree.graph.stream("job", CONFIG, stream_mode="values"):
        if chunk.get("state"):
            found.append(goal_status(TaskState.model_validate(chunk["state"])).value)
    assert found == [
        "in_progress",  # admitted
        "waiting_children",  # planned
        "pending_review",  # both have reported
        "pending_review",  # one is reviewed, and its action waits
        "waiting_children",  # the other is too, and the new child starts
        "pending_review",
        "in_progress",
        "in_progress",
        "completed",
    ]


def test_it_is_never_stored() -> None:
    assert not {"goal", "goal_status"} & set(TaskState.model_fields)
    assert goal_status(TaskState()) is GoalStatus.PENDING


def test_there_is_a_way_between_any_two_states_that_the_document_allows() -> None:
    for before, after in itertools.product(GoalStatus, repeat=2):
        path = [before, *goal_path(before, after)]
        if after is GoalStatus.PENDING or before is after:
            assert len(path) == 1
            continue
        assert path[-1] is after
        assert all(step in ALLOWED[last] for last, step in itertools.pairwise(path))
