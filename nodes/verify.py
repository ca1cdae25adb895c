"""verify: check the answer of an attempt."""

from __future__ import annotations

from typing import Any

from langgraph_recursive.state._model import plain
from langgraph_recursive.state.artifacts import artifact_verdict
from langgraph_recursive.state.failure import failures_of
from langgraph_recursive.state.materials import Entry
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import cut
from langgraph_recursive.state.verdict import ValidationResult

from .artifacts import artifact_findings
from .context import Context
from .node import Update
from .outcome import accepted, halted
from .reading import entries_read
from .validation import Resolved, validated

__all__ = ("verify",)

_TOLD_CHECKS = 20
_TOLD_CHARS = 400


async def verify(state: TaskState, context: Context) -> Update:
    """Validate the attempt; an accepted answer ends the task, a rejected one goes to recovery.

    A validator that raises or returns nothing is `error`: it halts the task, never passes it, and never has the solver
    called again by itself (rules.md 15). Only what the root gate says goes to recovery whatever it is: its first error
    too is put to the task once more.
    """
    result = await validated(state, context, await _resolved(state, context))
    gate = {"gate_attempts": state.gate_attempts + 1} if result.gate is not None else {}
    if result.checks or result.outcome == "error":
        context.trace("VERIFIED", _told(result))
    context.emit_done("verified", **_checks(result, state.attempt.attempt))
    if result.outcome == "passed":
        return {**gate, **accepted(state, context, result)}
    report = _rejected(state, result)
    if result.outcome == "error" and result.gate is None:
        issues = "; ".join(result.issues)
        return {**gate, **halted(state, context, "validator_error", issues, report=report, verdict=result)}
    return {**gate, "verdict": result, "report": report}


async def _resolved(state: TaskState, context: Context) -> Resolved:
    """Look up the artifacts that the report refers to, and what the attempt really read."""
    findings = await artifact_findings(state.answered, context)
    return Resolved(
        verdict=artifact_verdict(findings),
        entries=[Entry(kind="artifact", source=found.name, text=found.text) for found in findings if found.text],
        hashes=[found.fingerprint for found in findings],
        reads=await entries_read(state, context),
    )


def _checks(result: ValidationResult, attempt: int) -> dict[str, Any]:
    """What the event tells: enough of each failed check to see why, also without the run."""
    failures = failures_of(result, attempt=attempt)[:_TOLD_CHECKS]
    passed = [check for check in result.checks if check.status == "passed"][:_TOLD_CHECKS]
    return {
        "outcome": result.outcome,
        "issues": [cut(issue) for issue in result.issues],
        "failures": [plain(failure.within(_TOLD_CHARS)) for failure in failures],
        "passed": [[check.validator_id, check.check_id, cut(check.justification)] for check in passed],
    }


def _rejected(state: TaskState, result: ValidationResult) -> TaskReport:
    """A rejected answer is `partial`, its open issues are its failures (rules.md 5)."""
    return state.answered.model_copy(update={"outcome": "partial", "remaining_issues": result.issues})


def _told(result: ValidationResult) -> str:
    if result.outcome == "error":
        return f"ERROR: {'; '.join(result.issues)}"
    word = "ACCEPTED" if result.outcome == "passed" else "REJECTED"
    return f"{word}: {result.feedback or '; '.join(result.issues)}"
