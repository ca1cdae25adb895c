"""review: the parent's decision on each child's report and verdict."""

from __future__ import annotations

import itertools
from typing import cast

from langgraph_recursive.state.decisions import (
    ReviewContext,
    ReviewLimits,
    applied,
    fault_of,
    is_hopeless,
    pending_results,
    permitted,
    places_left,
)
from langgraph_recursive.state.errors import ComponentError
from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.review import ReviewDecision, TaskReview
from langgraph_recursive.state.task_state import ChildResult, TaskState

from .components import LAUNCHER, REASKS, Component
from .context import CallFailed, Context
from .node import Update
from .outcome import halted

__all__ = ("review",)

_D = ReviewDecision
_ANSWER_CHARS = 2_000


async def review(state: TaskState, context: Context) -> Update:
    """Judge the children, each report by itself, held to the decision matrix of the protocol.

    What follows from the decisions comes when the batch is done: approved actions run, children are planned anew,
    what was accepted is aggregated (also without the others, under `best_effort`), or the task ends. When the budget
    has run out nothing is left to decide: what was accepted is aggregated from what the task kept back.
    """
    context.check()  # children that ended because this task must end are not judged
    if state.out_of_budget is not None:
        return {} if state.accepted else halted(state, context, "budget_exhausted", state.out_of_budget)
    limits = _limits(context)
    if not pending_results(state, limits) and state.missing and not state.open_actions:
        return halted(state, context, "no_progress", f"nothing can run, and {', '.join(state.missing)} is not finished")
    while result := _decidable(state, limits):
        state = await _decided(state, result, limits, context)
        if state.failed_by or context.parts.reviewer is not None:
            break  # a reviewer's call is paid for, so each report is a step of its own (rules.md 14)
    follows = _what_follows(state, limits, context)
    await _launched(follows["state"], context)
    return follows


async def _launched(state: TaskState, context: Context) -> None:
    """Have a reviewer that starts children itself (`agent_parent`) start what it approved, once the batch is done."""
    launcher = getattr(context.parts.reviewer and context.parts.reviewer.target, "launcher", None)
    actions = [action for action in state.next_actions if action.kind != "rerun"]
    if launcher is not None and actions and not state.reviewing and state.failed_by is None:
        await Component(LAUNCHER, launcher)(context, task=state.attempt, actions=actions)


def _limits(context: Context) -> ReviewLimits:
    """The limits of reviews; the rule-based reviewer never revises, and replans only where that is configured."""
    policy = context.policy
    if context.parts.reviewer is None:
        replans = policy.max_replans if context.parts.on_child_failure == "replan" else 0
        return ReviewLimits(policy.max_children, replans, 0)
    return ReviewLimits(policy.max_children, policy.max_replans, policy.max_revisions, may_fix=context.fixes_left > 0)


def _decidable(state: TaskState, limits: ReviewLimits) -> ChildResult | None:
    """The next report that something may be decided on; one that may only fail waits for approved actions to run."""
    pending = pending_results(state, limits)
    return next((result for result in pending if _allowed(state, result, limits)), None)


def _allowed(state: TaskState, result: ChildResult, limits: ReviewLimits) -> frozenset[ReviewDecision]:
    pending = pending_results(state, limits)
    # Reports that leave nothing but FAIL are closed together, or none of them could ever be (rules.md 6).
    last = len(pending) == 1 or all(is_hopeless(state, other, limits) for other in pending)
    return permitted(state, result, limits, last=last, open_actions=state.open_actions)


async def _decided(state: TaskState, result: ChildResult, limits: ReviewLimits, context: Context) -> TaskState:
    allowed = _allowed(state, result, limits)
    reviewer = context.parts.reviewer
    if reviewer is None:
        made = _ruled(result, allowed)
    else:
        made = await _asked(reviewer, state, result, allowed, limits, context)
    if made.decision is _D.REVISE_CHILD:
        context.take_fix()
    state = state.model_copy(update=applied(state, result, made))
    if made.decision is _D.FAIL:
        for other in pending_results(state, limits):
            closed = TaskReview(decision=_D.FAIL, reason=f"closed with {result.id}: {_why(other)}")
            state = state.model_copy(update={**applied(state, other, closed), "failed_by": result.id})
    context.emit_done("reviewed", child=result.report.child_task_id, decision=made.decision.value, reason=made.reason)
    return state


def _ruled(result: ChildResult, allowed: frozenset[ReviewDecision]) -> TaskReview:
    """The rule-based reviewer (rules.md 6): it never revises and never accepts a suggestion."""
    if result.passed:
        last = _D.ASCEND in allowed
        return TaskReview(decision=_D.ASCEND if last else _D.REJECT_REFINE, reason="its verdict passed")
    return TaskReview(decision=_D.REPLAN_CURRENT if _D.REPLAN_CURRENT in allowed else _D.FAIL, reason=_why(result))


async def _asked(
    reviewer: Component,
    state: TaskState,
    result: ChildResult,
    allowed: frozenset[ReviewDecision],
    limits: ReviewLimits,
    context: Context,
) -> TaskReview:
    """Ask the reviewer, and again where its answer is of no use: a model twice at most, a person until it fits.

    Raises:
        ComponentError: A function decided what is not allowed.
        CallFailed: A model did, or its answers could not be read, three times.
    """
    asks = getattr(reviewer.target, "asks", 1)
    readings = None if asks is None else max(asks, 1 + REASKS)  # unparsable output is asked for again of anyone
    complaint: str | None = None
    for ask in itertools.count(1):
        ctx = _seen(state, result, allowed, limits, complaint)
        try:
            made = cast(
                TaskReview,
                await reviewer(context, report=result.report, result=result.verdict, ctx=ctx, complaint=complaint),
            )
        except CallFailed as failure:
            if failure.kind != "unparsable" or ask == readings:
                raise
            complaint = failure.message
            continue
        complaint = fault_of(state, result, made, allowed)
        if complaint is None:
            return made
        if asks == 1:
            raise ComponentError(f"reviewer {reviewer.name!r}: {complaint}", field="reviewer", value=str(made.decision))
        if ask == asks:
            answer = bounded(made.model_dump_json(exclude_defaults=True), limit=_ANSWER_CHARS).text
            raise CallFailed("failed", "ForbiddenDecision", f"the reviewer was asked {ask} times: {complaint}", answer)
    raise AssertionError("unreachable")


def _seen(
    state: TaskState,
    result: ChildResult,
    allowed: frozenset[ReviewDecision],
    limits: ReviewLimits,
    complaint: str | None,
) -> ReviewContext:
    return ReviewContext(
        task=state.attempt,
        child=next(child for child in state.plan if child.id == result.id),
        allowed=allowed,
        pending=tuple(other.id for other in pending_results(state, limits)),
        next_actions=tuple(state.next_actions),
        places_left=places_left(state, limits),
        complaint=complaint,
    )


def _what_follows(state: TaskState, limits: ReviewLimits, context: Context) -> Update:
    if state.failed_by is not None:
        if context.parts.on_child_failure == "best_effort" and state.accepted:
            return {"state": state.model_copy(update={"failed_by": None, "reviewing": False})}
        return {"state": state, **_failed(state, context)}
    reviewing = _decidable(state, limits) is not None
    if reviewing or state.open_actions or not state.pending_replans:
        return {"state": state.model_copy(update={"reviewing": reviewing})}
    return {
        "state": state.model_copy(
            update={"reviewing": False, "replanning": True, "replans": state.replans + 1, "pending_replans": []}
        )
    }


def _why(result: ChildResult) -> str:
    text = f"{result.halt.type}: {result.halt.detail}" if result.halt else "; ".join(result.verdict.issues)
    return text or "its parent does not accept it"


def _failed(state: TaskState, context: Context) -> Update:
    """End the task with the halt of the child that caused it, not of one that was only stopped for it."""
    results = [state.children[child.id] for child in state.plan if child.id in state.children]
    failed = [result for result in results if not result.passed] or results
    cause = next((result for result in failed if result.halt and result.halt.type != "cancelled"), failed[0])
    why = _why(cause)
    judged = next((review.reason for review in state.reviews if review.decision is _D.FAIL), why)
    detail = f"{cause.id}: {why}" if judged == why else f"{cause.id}: {why}; review: {judged}"
    return halted(state, context, "child_failed", detail, child=cause.halt)
