"""review: the parent's decision on each child's report and verdict."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph_recursive.state.review import ReviewDecision, TaskReview, allowed_decisions
from langgraph_recursive.state.task import ChildResult
from langgraph_recursive.state.task_state import TaskState

from .context import Context
from .node import Update
from .outcome import halted

__all__ = ("review",)


async def review(state: TaskState, context: Context) -> Update:
    """Judge the children, held to the decision matrix of the protocol.

    Accepted children stay accepted. What becomes of the others follows from the decisions: plan anew, aggregate
    without them (`best_effort`), or end the task.
    """
    pending = _in_review_order(state)
    if not pending and state.missing:
        return halted(state, context, "no_progress", f"nothing can run, and {', '.join(state.missing)} is not finished")
    reviews = _ruled(pending, state, context)
    update: Update = {"reviews": [*state.reviews, *reviews]}
    context.emit("reviewed", decisions=[[entry.child_task_id, entry.decision.value] for entry in reviews])
    decisions = {entry.decision for entry in reviews}
    if ReviewDecision.FAIL in decisions:
        if context.parts.on_child_failure == "best_effort" and state.accepted:
            return update
        return update | _failed(state, context, pending)
    if ReviewDecision.REPLAN_CURRENT in decisions:
        return {**update, "replanning": True, "replans": state.replans + 1}
    return update


def _in_review_order(state: TaskState) -> list[ChildResult]:
    """Reports without a review, passed ones first (rules.md 6)."""
    reviewed = {entry.child_task_id for entry in state.reviews}
    results = [state.children[child.id] for child in state.plan if child.id in state.children]
    pending = [result for result in results if result.report.child_task_id not in reviewed]
    return sorted(pending, key=lambda result: not result.passed)


def _ruled(pending: Sequence[ChildResult], state: TaskState, context: Context) -> list[TaskReview]:
    """The rule-based reviewer: it never revises and never accepts a suggestion."""
    may_replan = context.parts.on_child_failure == "replan" and state.replans < context.policy.max_replans
    replannable = [result for result in pending if may_replan and _can_replan(result)]
    hopeless = [result for result in pending if not result.passed and result not in replannable]
    passed = [result for result in pending if result.passed]
    reviews = [_decided(result, ReviewDecision.REJECT_REFINE, "passed", state) for result in passed]
    if passed and len(passed) == len(pending):
        reviews[-1] = _decided(passed[-1], ReviewDecision.ASCEND, "all children passed", state)
    reviews += [_decided(result, ReviewDecision.REPLAN_CURRENT, _why(result), state) for result in replannable]
    # One FAIL covers all reports that leave nothing else to decide; each keeps its own record.
    return reviews + [_decided(result, ReviewDecision.FAIL, _why(result), state) for result in hopeless]


def _can_replan(result: ChildResult) -> bool:
    allowed = allowed_decisions(result.verdict.outcome, result.report.outcome, last=True)
    return ReviewDecision.REPLAN_CURRENT in allowed


def _decided(result: ChildResult, decision: ReviewDecision, reason: str, state: TaskState) -> TaskReview:
    return TaskReview(
        decision=decision,
        reason=reason,
        child_task_id=result.report.child_task_id,
        parent_task_id=state.attempt.id,
        retry_from=result.verdict.retry_from,
    )


def _why(result: ChildResult) -> str:
    return f"{result.halt.type}: {result.halt.detail}" if result.halt else "; ".join(result.verdict.issues)


def _failed(state: TaskState, context: Context, pending: Sequence[ChildResult]) -> Update:
    """End the task with the halt of the child that caused it, not of one that was only stopped for it."""
    failed = [result for result in pending if not result.passed]
    cause = next((result for result in failed if result.halt and result.halt.type != "cancelled"), failed[0])
    return halted(state, context, "child_failed", f"{cause.id}: {_why(cause)}", child=cause.halt)
