"""Reviews: a parent's decision on a child's report and verdict, and which decisions are allowed."""

from __future__ import annotations

from enum import StrEnum

from ._model import Data
from .brief import TaskBrief
from .report import ReportOutcome
from .verdict import Outcome, RetryFrom

__all__ = ("VERDICT_MATRIX", "ReviewDecision", "TaskReview", "allowed_decisions")


class ReviewDecision(StrEnum):
    """What a parent may decide (protocol, decision semantics).

    `ACCEPT_REFINE` accepts and adds the approved next task; `REJECT_REFINE` accepts and does not follow the child's
    suggestion; `REVISE_CHILD` grants the child one more attempt; `DESCEND_AGAIN` adds a child; `REPLAN_CURRENT`
    plans this task anew; `ASCEND` completes this task; `FAIL` ends it.
    """

    ACCEPT_REFINE = "ACCEPT_REFINE"
    REJECT_REFINE = "REJECT_REFINE"
    REVISE_CHILD = "REVISE_CHILD"
    DESCEND_AGAIN = "DESCEND_AGAIN"
    REPLAN_CURRENT = "REPLAN_CURRENT"
    ASCEND = "ASCEND"
    FAIL = "FAIL"


_D = ReviewDecision

VERDICT_MATRIX: dict[Outcome, frozenset[ReviewDecision]] = {
    "passed": frozenset(_D) - {_D.REPLAN_CURRENT},
    "failed": frozenset({_D.REVISE_CHILD, _D.REPLAN_CURRENT, _D.FAIL}),
    "unknown": frozenset({_D.REVISE_CHILD, _D.REPLAN_CURRENT, _D.FAIL}),
    "error": frozenset({_D.REVISE_CHILD, _D.FAIL}),
}
"""Which decisions a verdict allows (protocol, decision matrix)."""

_UNANSWERED = frozenset({_D.REVISE_CHILD, _D.FAIL})
_CLOSING = frozenset({_D.ASCEND, _D.FAIL})


class TaskReview(Data):
    """A parent's decision on one report (protocol, TaskReview).

    Attributes:
        parent_task_id: The attempt that reviews; the framework fills it in.
        child_task_id: The attempt that reported.
        decision: What is decided.
        reason: Why, in words.
        approved_next_task: The brief of the child that is added or revised.
        retry_from: Copied from the verdict by the framework; a reviewer cannot set it.
        sequence: Order among the reports, reviews and actions of one task.
    """

    decision: ReviewDecision
    reason: str
    child_task_id: str = ""
    parent_task_id: str = ""
    approved_next_task: TaskBrief | None = None
    retry_from: RetryFrom | None = None
    sequence: int = 0


def allowed_decisions(
    verdict: Outcome, report: ReportOutcome, *, last: bool, open_actions: bool = False
) -> frozenset[ReviewDecision]:
    """List what may be decided on a report.

    Args:
        verdict: The outcome of its validation.
        report: The outcome it states. `failed` and `protocol_error` allow only REVISE_CHILD and FAIL.
        last: Whether no other report is pending. ASCEND and FAIL need that.
        open_actions: Whether an approved action has not run yet. ASCEND and FAIL need that there is none.
    """
    allowed = VERDICT_MATRIX[verdict]
    if report in ("failed", "protocol_error"):
        allowed &= _UNANSWERED
    if not last or open_actions:
        allowed -= _CLOSING
    return allowed
