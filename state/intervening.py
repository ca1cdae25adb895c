"""Intervening: what a person's decision after a halt makes of the task's state."""

from __future__ import annotations

from typing import Any, NamedTuple

from .brief import BRIEF_CHARS, TaskBrief, brief_of
from .continuing import never_admitted, rebriefed, starting_node, why_halted
from .errors import InvalidInputError
from .intervention import Intervention
from .recovery import fix_task, settled_checks
from .report import Validation, answer_report
from .rewinding import anew, cleared
from .task import Task
from .task_state import TaskState
from .verdict import ValidationResult

__all__ = ("Directed", "accepted_anyway", "answer_at_hand", "decided", "retried", "was_cut_off")


class Directed(NamedTuple):
    """The attempt with which a task goes on, and what else changes in its state."""

    task: Task
    update: dict[str, Any]


def was_cut_off(state: TaskState) -> bool:
    """Whether a limit ended the task: it goes on where it was, and no failure is added."""
    return state.halt is not None and state.halt.cuts_off


def decided(state: TaskState, decision: Intervention) -> dict[str, Any]:
    """Record a decision with the attempt that halted; nobody is asked any more."""
    attempts = [
        attempt.model_copy(update={"intervention": decision}) if attempt.id == state.attempt.id else attempt
        for attempt in state.attempts
    ]
    return {"attempts": attempts, "intervention": None, "asking": False}


def answer_at_hand(state: TaskState) -> str | None:
    """What can be accepted: what the last attempt answered, or else the best rejected answer."""
    if state.report is not None and state.report.answered:
        return state.report.text
    return state.best.text if state.best is not None else None


def accepted_anyway(state: TaskState, decision: Intervention) -> dict[str, Any]:
    """Accept an answer with a waiver: a success that is not verified (rules.md 7).

    The verdict keeps its checks as they were, and the attempt its failures.

    Raises:
        InvalidInputError: There is no answer to accept.
    """
    text = decision.answer or answer_at_hand(state)
    if text is None:
        raise InvalidInputError(
            f"task {state.attempt.id} has made no answer that could be accepted: give answer='...'", field="answer"
        )
    made = state.report if state.report is not None and state.report.answered and not decision.answer else None
    report = (made or answer_report(text)).model_copy(
        update={
            "child_task_id": state.attempt.id,
            "outcome": "partial" if made is not None and made.missing else "satisfied",
            "validation": Validation(hard_passed=True),
            "remaining_issues": [],
        }
    )
    verdict = (state.verdict or ValidationResult(evaluated_task_id=state.attempt.id, outcome="failed")).model_copy(
        update={"outcome": "passed", "checked": False, "retry_from": None, "waived_by": decision.by}
    )
    return {"report": report, "verdict": verdict, "halt": None, "out_of_budget": None, "failed_by": None}


def retried(
    state: TaskState, decision: Intervention, *, max_attempts: int, more: int = 0, spec_chars: int, evidence_chars: int
) -> Directed:
    """Have a halted task go on in the same chain: always under its next fix number, and granted whatever the limits.

    A task that did not pass makes a new attempt from the original task, with every failure so far and what the person
    says. One that was cut off by a limit goes on with the children it has; no failure is added, and it does not count
    as an attempt.

    Args:
        state: The state of the halted task.
        decision: What the person decided.
        max_attempts: The policy's.
        more: How many of them were granted since the task halted.
        spec_chars: How long a spec may be that takes the place of the task.
        evidence_chars: How much failure detail the new spec may carry.

    Raises:
        InvalidInputError: What the person says is too long.
    """
    cut_off = was_cut_off(state)
    last, history = _directed(state, decision, spec_chars)
    failures = [failure for attempt in state.standing for failure in attempt.failures]
    if not cut_off:
        failures += why_halted(state)
    waits = cut_off and bool(state.plan) and last.start != "aggregate"
    fix = fix_task(
        last,
        failures,
        settled_checks(state.verdict) if state.verdict is not None and not cut_off else [],
        number=state.last_number,
        start=last.start if waits else starting_node(state, rerun=cut_off),
        evidence_chars=evidence_chars,
    )
    granted = max_attempts if last.limit is None else last.limit + more
    limit = granted + 1 if cut_off else max(granted, fix.attempt)
    fix = fix.model_copy(update={"limit": limit})
    update = {"brief_history": history, "halt": None, "out_of_budget": None}
    return Directed(fix, update | (_waiting(state, fix) if waits else {}))


def _directed(state: TaskState, decision: Intervention, spec_chars: int) -> tuple[Task, list[TaskBrief]]:
    """The last attempt with what the person says about the task, and the earlier versions of its brief."""
    task = state.attempt
    said: dict[str, Any] = {"model": decision.model or task.model}
    if decision.hint:
        said["hints"] = [*task.hints, decision.hint]
        _bounded("hint", "".join(said["hints"]), BRIEF_CHARS)
    task = task.model_copy(update=said)
    if not decision.spec:
        return task, state.brief_history
    replaces = never_admitted(state)
    _bounded("spec", decision.spec, spec_chars if replaces else BRIEF_CHARS)
    brief = brief_of(decision.spec).inherit(task.brief.constraints) if replaces else task.brief
    history = [*state.brief_history, task.brief] if replaces else state.brief_history
    return rebriefed(task, brief, decision.spec, anew=replaces), history


def _bounded(field: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise InvalidInputError(
            f"{field} would have {len(text)} characters, {limit} are allowed: shorten it", field=field, value=text
        )


def _waiting(state: TaskState, fix: Task) -> dict[str, Any]:
    """The state of a composite that runs what it has no result of: each from where it was, or from its start."""
    passed = {name: result for name, result in state.children.items() if result.passed}
    again = anew(cleared(state).model_copy(update={"current": fix, "children": passed}), keep=state.going_on)
    names = (
        "plan",
        "children",
        "going_on",
        "next_actions",
        "report",
        "verdict",
        "failed_by",
        "reviewing",
        "replanning",
    )
    return {name: getattr(again, name) for name in names} | {"replanning": False, "resume_at": "subtasks"}
