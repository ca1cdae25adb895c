"""Continuing: a child goes on from where it left off, because its parent revises it or what it depends on."""

from __future__ import annotations

from typing import Any, Literal

from .brief import TaskBrief, render_brief, same_task
from .failure import Failure
from .recovery import fix_task, settled_checks
from .task import Task
from .task_state import NextAction, TaskState
from .usage import Usage

__all__ = ("continued", "left_off", "never_admitted", "rebriefed", "seed_of", "starting_node", "why_halted")

_REVIEW = "review"


def left_off(ended: TaskState) -> TaskState:
    """What a parent keeps of a child so that it can go on: not what it spent and logged, which the child has stored.

    An accepted child can only go on because its inputs change, so its own children are of no further use.
    """
    kept = {"log": [], "spent": Usage(), "partial": []}
    return ended.model_copy(update=kept if ended.halt else {**kept, "plan": [], "children": {}, "reviews": []})


def seed_of(action: NextAction) -> TaskState | None:
    """The state that a child goes on from: one that is given a new brief keeps the old one as history."""
    left = action.left
    if left is None or action.brief is None:
        return left
    return left.model_copy(update={"brief_history": [*left.brief_history, left.attempt.brief]})


def continued(action: NextAction, *, max_attempts: int, evidence_chars: int) -> Task:
    """Make the next attempt of a child: the next fix of its chain.

    A revision adds the reviewer's reason to the failures and grants exactly one attempt (rules.md 2). A rerun adds no
    failure and does not count as an attempt (rules.md 13).

    Args:
        action: The approved action; it holds where the child left off.
        max_attempts: The policy's.
        evidence_chars: How much failure detail the new spec may carry.
    """
    left = action.left
    if left is None:
        raise RuntimeError(f"nothing is kept of {action.child_id} to go on from")
    last = left.attempt
    if action.brief is not None:
        last = rebriefed(last, action.brief, render_brief(action.brief), anew=never_admitted(left))
    rerun = action.kind == "rerun"
    failures = [failure for attempt in left.standing for failure in attempt.failures]
    if not rerun:
        failures += _reasons(left, action.reason)
    fix = fix_task(
        last,
        failures,
        settled_checks(left.verdict) if left.verdict is not None else [],
        number=left.last_number,
        start=starting_node(left, rerun=rerun),
        evidence_chars=evidence_chars,
    )
    limit = (last.limit or max_attempts) + 1 if rerun else fix.attempt
    return fix.model_copy(update={"limit": limit})


def _reasons(left: TaskState, reason: str) -> list[Failure]:
    last = left.attempt
    review = Failure(
        attempt=last.attempt, validator_id=_REVIEW, check_id=_REVIEW, justification=reason, task_id=last.id
    )
    return [*why_halted(left), review]


def why_halted(left: TaskState) -> list[Failure]:
    """The halt as a failure, where no check of the chain said what is wrong."""
    if left.halt is None or any(attempt.failures for attempt in left.standing):
        return []
    last, text = left.attempt, f"{left.halt.type}: {left.halt.detail}"
    return [Failure(attempt=last.attempt, validator_id="task", justification=text, task_id=last.id)]


def never_admitted(left: TaskState) -> bool:
    """Whether the spec was refused each time, so that no attempt ever worked on it."""
    return all(attempt.halt == "precheck_failed" for attempt in left.standing)


def rebriefed(last: Task, brief: TaskBrief, text: str, *, anew: bool) -> Task:
    """Take a revised brief in: once, as instructions (rules.md 17); or as the task itself if none was ever admitted.

    Args:
        last: The last attempt.
        brief: What it is handed now.
        text: What that asks, as text.
        anew: Whether it replaces the task.
    """
    version: dict[str, Any] = {"brief": brief, "revision": last.revision + 1}
    version["lineage"] = [*last.lineage[:-1], same_task(brief.objective)]
    if anew:
        return last.model_copy(update={**version, "spec": text, "root_spec": text})
    return last.model_copy(update={**version, "instructions": text})


def starting_node(left: TaskState, *, rerun: bool) -> Literal["decompose", "solve", "aggregate"]:
    """Start where the verdict says (retry_from), else where the last attempt started."""
    at = left.verdict.retry_from.at if left.verdict is not None and left.verdict.retry_from is not None else None
    if at is None:
        at = left.made_by if left.report is not None and left.report.answered else left.attempt.start
    if at == "aggregate" and (rerun or left.attempt.start == "aggregate" or not left.plan):
        return "decompose"
    return at
