"""recovery: record what failed, test for a stall, and make the next fix task from the original one (ADR 021)."""

from __future__ import annotations

from typing import Literal

from langgraph_recursive.state.failure import Failure, failures_of
from langgraph_recursive.state.recovery import fix_task, settled_checks
from langgraph_recursive.state.repeat import repeats
from langgraph_recursive.state.task import Attempt, HaltType, Partial
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.validation import model_validator_id
from langgraph_recursive.state.verdict import ValidationResult

from .context import Context
from .node import Update
from .outcome import halted

__all__ = ("recovery",)

GATE_ATTEMPTS = 2
"""How often the root gate validates: its first miss is put to the task once more, its second ends it (rules.md 22)."""


async def recovery(state: TaskState, context: Context) -> Update:
    """Make the next attempt, or halt.

    The stall is tested first: a repeated verdict proves that the loop does not converge, and every further attempt
    would cost its calls for nothing.
    """
    task = state.attempt
    verdict = state.verdict
    if verdict is None:
        raise RuntimeError("recovery runs only after a verdict")
    failures = failures_of(verdict, attempt=task.attempt) + _gate_error(verdict, attempt=task.attempt)
    attempt = Attempt(id=task.id, attempt=task.attempt, outcome=verdict.outcome, start=state.made_by, failures=failures)
    update: Update = {"attempts": [*state.attempts, attempt], **_best(state, failures)}
    now = state.model_copy(update=update)
    if reason := _reason_to_halt(now, context):
        return update | halted(now, context, *reason, report=state.report, verdict=verdict)
    known = [*task.prior_failures, *failures]
    fix = fix_task(
        task,
        known,
        settled_checks(verdict),
        number=task.attempt,
        start=_next_start(state),
        evidence_chars=context.policy.max_evidence_chars,
    )
    if verdict.gate is not None:  # its one correction is granted also when max_attempts is used up
        fix = fix.model_copy(update={"limit": max(task.limit or context.policy.max_attempts, fix.attempt)})
    context.trace("RECOVERED", f"{fix.id} from {len(known)} failures so far")
    context.emit("recovering", fix=fix.id, failures=len(known))
    return {**update, "attempt": fix}


def _gate_error(verdict: ValidationResult, *, attempt: int) -> list[Failure]:
    """A gate that erred names no check, but what it said is put to the task too."""
    if verdict.gate != "error":
        return []
    return [
        Failure(
            attempt=attempt,
            validator_id=model_validator_id("root"),
            justification="; ".join(verdict.issues),
            task_id=verdict.evaluated_task_id,
        )
    ]


def _best(state: TaskState, failures: list[Failure]) -> Update:
    """Keep the rejected answer with the fewest blockers, the latest of several."""
    blockers = sum(failure.severity == "blocker" for failure in failures)
    if state.best is not None and blockers > state.best_failures:
        return {}
    answer = Partial(task_id=state.attempt.id, task=state.attempt.brief.objective, text=state.answered.text)
    return {"best": answer, "best_failures": blockers}


def _reason_to_halt(state: TaskState, context: Context) -> tuple[HaltType, str] | None:
    """Why there is no further attempt, or None. A fix is counted when there is one."""
    task, policy = state.attempt, context.policy
    if state.out_of_budget is not None:
        return "budget_exhausted", state.out_of_budget
    if state.verdict is not None and state.verdict.gate is not None:
        return _gate_missed(state, context)
    standing = state.standing
    seen = repeats([attempt.failures for attempt in standing], policy.stall_window)
    if seen is not None:
        context.emit("stalled", repeats=standing[seen].id)
        return (
            "recovery_stalled",
            f"attempt {task.attempt} failed exactly as attempt {standing[seen].attempt} did",
        )
    if state.made_by == "aggregate" and context.parts.closing_aggregate:
        return "recovery_exhausted", "a combined answer is verified once"
    if task.attempt >= (task.limit or policy.max_attempts):
        return "recovery_exhausted", f"no attempt of {task.attempt} was accepted (max_attempts)"
    return _no_fix_left(context)


def _gate_missed(state: TaskState, context: Context) -> tuple[HaltType, str] | None:
    """After the root gate: neither a stall nor max_attempts counts, only whether it has validated twice."""
    if state.gate_attempts >= GATE_ATTEMPTS:
        return "recovery_exhausted", "the root gate did not pass the answer, nor the one correction that it grants"
    return _no_fix_left(context)


def _no_fix_left(context: Context) -> tuple[HaltType, str] | None:
    if context.take_fix():
        return None
    return (
        "recovery_exhausted",
        f"the tree has made all its {context.policy.max_fixes_total} fixes (max_fixes_total)",
    )


def _next_start(state: TaskState) -> Literal["decompose", "solve", "aggregate"]:
    """A fix keeps its predecessor's shape; only a re-aggregation that failed too is planned anew (rules.md 11)."""
    if state.made_by == "aggregate" and state.attempt.start == "aggregate":
        return "decompose"
    return state.made_by
