"""Decisions: what a reviewer may decide on a child, and what a decision does to the parent's state.

All of it is data in, data out, so that the rules of the protocol can be read and tested in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .brief import SubTask, TaskBrief
from .errors import InvalidInputError
from .ids import child_id
from .plan import faults_of
from .review import ReviewDecision, TaskReview, allowed_decisions
from .task import PlannedChild, Task
from .task_state import ChildResult, NextAction, TaskState

__all__ = (
    "ReviewContext",
    "ReviewLimits",
    "applied",
    "fault_of",
    "is_hopeless",
    "pending_results",
    "permitted",
    "places_left",
)

_D = ReviewDecision
_CREATES = frozenset({_D.ACCEPT_REFINE, _D.DESCEND_AGAIN})
_SUGGESTING = ("DESCEND", "REFINE")


@dataclass(frozen=True)
class ReviewLimits:
    """The policy's limits that bear on reviews."""

    max_children: int
    max_replans: int
    max_revisions: int
    may_fix: bool = True


@dataclass(frozen=True)
class ReviewContext:
    """What a reviewer sees besides the report and the verdict (rules.md 27).

    Attributes:
        task: The parent's attempt.
        child: The child whose report is reviewed.
        allowed: The decisions that are allowed.
        pending: Ids of all children whose reports are pending, this one included.
        next_actions: What was approved and has not run yet.
        places_left: Children that may still be added.
        complaint: Why the last answer was refused, if this is not the first.
    """

    task: Task
    child: PlannedChild
    allowed: frozenset[ReviewDecision]
    pending: tuple[str, ...]
    next_actions: tuple[NextAction, ...]
    places_left: int
    complaint: str | None = None


def places_left(state: TaskState, limits: ReviewLimits) -> int:
    """Children that may still be added; approved ones hold their place already."""
    return limits.max_children - (state.next_child - state.quota_from)


def pending_results(state: TaskState, limits: ReviewLimits) -> list[ChildResult]:
    """Reports without a review: passed ones first, then those that can be helped, then the others (rules.md 6)."""
    reviewed = {review.child_task_id for review in state.reviews}
    results = [state.children[child.id] for child in state.plan if child.id in state.children]
    pending = [result for result in results if result.report.child_task_id not in reviewed]
    return sorted(pending, key=lambda result: (not result.passed, is_hopeless(state, result, limits)))


def is_hopeless(state: TaskState, result: ChildResult, limits: ReviewLimits) -> bool:
    """Whether nothing but FAIL is left for a report."""
    return permitted(state, result, limits, last=True, open_actions=False) <= {_D.FAIL}


def permitted(
    state: TaskState,
    result: ChildResult,
    limits: ReviewLimits,
    *,
    last: bool,
    open_actions: bool,
) -> frozenset[ReviewDecision]:
    """List what may be decided: the protocol's matrix, less what a limit rules out.

    Args:
        state: The parent's state.
        result: What came back from the child.
        limits: The policy's limits.
        last: Whether no other report is pending, or none that could still be helped.
        open_actions: Whether an approved action has not run yet.
    """
    allowed = allowed_decisions(result.verdict.outcome, result.report.outcome, last=last, open_actions=open_actions)
    stalled = result.halt is not None and result.halt.type == "recovery_stalled"
    if (
        stalled
        or result.left is None
        or not limits.may_fix
        or state.revisions.get(result.id, 0) >= limits.max_revisions
    ):
        allowed -= {_D.REVISE_CHILD}
    if state.replans >= limits.max_replans:
        allowed -= {_D.REPLAN_CURRENT}
    if places_left(state, limits) <= 0:
        allowed -= _CREATES
    if result.report.next_step_suggestion.direction not in _SUGGESTING:
        allowed -= {_D.ACCEPT_REFINE}
    return allowed


def fault_of(
    state: TaskState, result: ChildResult, review: TaskReview, allowed: frozenset[ReviewDecision]
) -> str | None:
    """Say what is wrong with a review, naming what is allowed; None when nothing is."""
    if review.decision not in allowed:
        names = ", ".join(sorted(decision.value for decision in allowed))
        return (
            f"{review.decision.value} is not allowed on {result.report.child_task_id} "
            f"(verdict {result.verdict.outcome}, report {result.report.outcome}): allowed are {names}"
        )
    if not review.reason.strip():
        return "a review needs a reason"
    try:
        brief = _approved(state, result, review)
    except InvalidInputError as error:
        return str(error)
    if brief is None:
        return f"{review.decision.value} needs approved_next_task, a brief" if review.decision in _CREATES else None
    revised = result.id if review.decision is _D.REVISE_CHILD else None
    taken = [child.brief.objective for child in state.plan if child.id != revised]
    taken += [action.brief.objective for action in state.next_actions if action.kind == "create" and action.brief]
    return "; ".join(faults_of([SubTask(brief)], state.attempt, taken=taken, places=1)) or None


def _approved(state: TaskState, result: ChildResult, review: TaskReview) -> TaskBrief | None:
    """The brief that a decision approves, as it will run: constraints are inherited and only ever added."""
    brief = review.approved_next_task
    match review.decision:
        case _D.ACCEPT_REFINE:
            brief = brief or result.report.next_step_suggestion.suggested_next_task
        case _D.REVISE_CHILD:
            return None if brief is None else brief.inherit(_planned(state, result).brief.constraints)
        case _D.DESCEND_AGAIN:
            pass
        case _:
            return None
    return None if brief is None else brief.inherit(state.attempt.brief.constraints)


def _planned(state: TaskState, result: ChildResult) -> PlannedChild:
    return next(child for child in state.plan if child.id == result.id)


def applied(state: TaskState, result: ChildResult, review: TaskReview) -> dict[str, Any]:
    """Apply a review without fault to the parent's state; gives the fields that change.

    The framework fills in who reviews what, from where a retry starts, and the sequence: a reviewer cannot set them.
    """
    review = review.model_copy(
        update={
            "parent_task_id": state.attempt.id,
            "child_task_id": result.report.child_task_id,
            "approved_next_task": _approved(state, result, review),
            "retry_from": result.verdict.retry_from,
            "sequence": state.sequence + 1,
        }
    )
    update: dict[str, Any] = {"reviews": [*state.reviews, review], "sequence": state.sequence + 1}
    match review.decision:
        case _D.ACCEPT_REFINE | _D.DESCEND_AGAIN:
            update |= _created(state, review)
        case _D.REVISE_CHILD:
            update |= _revised(state, result, review)
        case _D.REPLAN_CURRENT:
            update |= {"pending_replans": [*state.pending_replans, result.id]}
        case _D.FAIL:
            update |= {"failed_by": result.id, "pending_replans": []}
    return update


def _created(state: TaskState, review: TaskReview) -> dict[str, Any]:
    """The new child has its number, and so its place in the quota, from here on."""
    brief = review.approved_next_task
    assert brief is not None, "fault_of finds a missing brief"
    action = NextAction(
        kind="create",
        child_id=child_id(state.attempt.id, state.next_child),
        brief=brief,
        brief_hash=brief.hash,
        reason=review.reason,
        sequence=state.sequence + 2,
    )
    return {
        "next_actions": [*state.next_actions, action],
        "next_child": state.next_child + 1,
        "sequence": state.sequence + 2,
    }


def _revised(state: TaskState, result: ChildResult, review: TaskReview) -> dict[str, Any]:
    """The child goes on from where it left off, and whatever depends on it runs again (rules.md 13)."""
    again = [result, *_dependents(state, result.id)]
    brief = review.approved_next_task
    actions = [
        NextAction(
            kind="revise" if old is result else "rerun",
            child_id=old.id,
            brief=brief if old is result else None,
            brief_hash=brief.hash if old is result and brief is not None else "",
            reason=review.reason,
            left=old.left,
            sequence=state.sequence + 2 + index,
        )
        for index, old in enumerate(again)
    ]
    gone = {old.id for old in again}
    plan = [
        child.model_copy(update={"brief": brief or child.brief}) if child.id == result.id else child
        for child in state.plan
    ]
    return {
        "plan": plan,
        "next_actions": [*state.next_actions, *actions],
        "children": {name: kept for name, kept in state.children.items() if name not in gone},
        "report_history": [*state.report_history, *(old.report for old in again)],
        "revisions": {**state.revisions, result.id: state.revisions.get(result.id, 0) + 1},
        "sequence": state.sequence + 1 + len(actions),
    }


def _dependents(state: TaskState, changed: str) -> list[ChildResult]:
    """Results that were made with the result of a child, directly or not."""
    stale = {changed}
    found: list[ChildResult] = []
    waiting: Sequence[PlannedChild] = state.plan
    while True:
        now = [child for child in waiting if child.id not in stale and stale.intersection(child.depends_on)]
        if not now:
            return found
        stale.update(child.id for child in now)
        found += [state.children[child.id] for child in now if child.id in state.children]
