"""verify: check the answer of an attempt."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal, cast

from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import cut
from langgraph_recursive.state.verdict import (
    RetryFrom,
    ScopeValidationResult,
    ValidationCheck,
    ValidationResult,
    Verdict,
    worst,
)

from .components import Component
from .context import CallFailed, Context
from .node import Update
from .outcome import accepted, halted

__all__ = ("verify",)

_FRAMEWORK = "framework"


async def verify(state: TaskState, context: Context) -> Update:
    """Run the validators of this attempt side by side and aggregate what they say.

    A validator that raises or returns nothing is `error`: it halts the task, never passes it, and never has the solver
    called again by itself (rules.md 15).
    """
    verifiers = context.parts.verifiers
    answer = Answer(state.answered, task=state.attempt.brief.objective)
    verdicts = await context.side_by_side(
        [(verifier.name, functools.partial(_verdict, verifier, answer)) for verifier in verifiers], Verdict
    )
    result = _aggregated(state.attempt, state.answered, verifiers, verdicts, at=state.made_by)
    if verdicts:
        context.trace("VERIFIED", _told(result))
    context.emit("verified", outcome=result.outcome, issues=[cut(issue) for issue in result.issues])
    if result.outcome == "passed":
        return accepted(state, context, result)
    if result.outcome == "error":
        return halted(
            state,
            context,
            "validator_error",
            "; ".join(result.issues),
            report=_rejected(state, result),
            verdict=result,
        )
    return {"verdict": result, "report": _rejected(state, result)}


async def _verdict(verifier: Component, answer: Answer, context: Context) -> Verdict:
    task = context.attempt
    try:
        return cast(Verdict, await verifier(context, task=task, result=answer, attempt=task.attempt))
    except CallFailed as failure:
        return Verdict(error=str(failure))


def _aggregated(
    task: Task,
    report: TaskReport,
    verifiers: Sequence[Component],
    verdicts: Sequence[Verdict],
    *,
    at: Literal["solve", "aggregate"],
) -> ValidationResult:
    named = list(zip(verifiers, verdicts, strict=True))
    checks = [
        check.model_copy(update={"validator_id": verifier.name})
        for verifier, verdict in named
        for check in verdict.checks
    ]
    if report.outcome == "partial":
        checks.append(_unfinished(report))
    errors = [
        f"{verifier.name}: {verdict.error or 'returned no checks'}"
        for verifier, verdict in named
        if verdict.outcome == "error"
    ]
    outcome = worst(verdict.outcome for verdict in verdicts) if verdicts else "passed"
    if report.outcome == "partial":
        outcome = worst([outcome, "failed"])
    failed = [check for check in checks if check.status != "passed" and check.required]
    scope = ScopeValidationResult(scope="task", outcome=outcome, checks=checks, error="; ".join(errors) or None)
    retry = RetryFrom(task_id=task.id, at=at, check_ids=[check.check_id for check in failed])
    return ValidationResult(
        evaluated_task_id=task.id,
        outcome=outcome,
        scope_results=[scope],
        issues=errors + [f"{check.validator_id}/{check.check_id}: {check.justification}" for check in failed],
        retry_from=retry if outcome in ("failed", "unknown") else None,
        feedback="; ".join(filter(None, (verdict.feedback for verdict in verdicts))),
        checked=any(verdict.checked for verdict in verdicts),
    )


def _unfinished(report: TaskReport) -> ValidationCheck:
    """An executor's own `partial` is a failed check: an unfinished answer never counts as success (rules.md 5)."""
    open_points = [*report.validation.open_issues, *report.remaining_issues]
    return ValidationCheck(
        check_id="outcome",
        status="failed",
        justification=f"the answer is reported as partial: {'; '.join(open_points) or 'no reason given'}",
        validator_id=_FRAMEWORK,
    )


def _rejected(state: TaskState, result: ValidationResult) -> TaskReport:
    """A rejected answer is `partial`, its open issues are its failures (rules.md 5)."""
    return state.answered.model_copy(update={"outcome": "partial", "remaining_issues": result.issues})


def _told(result: ValidationResult) -> str:
    if result.outcome == "error":
        return f"ERROR: {'; '.join(result.issues)}"
    word = "ACCEPTED" if result.outcome == "passed" else "REJECTED"
    return f"{word}: {result.feedback or '; '.join(result.issues)}"
