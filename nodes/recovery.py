"""recovery: record what failed, test for a stall, and make the next fix task from the original one (ADR 021)."""

from __future__ import annotations

from typing import Literal

from langgraph_recursive.state.failure import Failure, failures_of
from langgraph_recursive.state.recovery import fix_task, settled_checks
from langgraph_recursive.state.repeat import repeats
from langgraph_recursive.state.task import Attempt, HaltType, Partial
from langgraph_recursive.state.task_state import TaskState

from .context import Context
from .node import Update
from .outcome import halted

__all__ = ("recovery",)


async def recovery(state: TaskState, context: Context) -> Update:
    """Make the next attempt, or halt.

    The stall is tested first: a repeated verdict proves that the loop does not converge, and every further attempt
    would cost its calls for nothing.
    """
    task = state.attempt
    verdict = state.verdict
    if verdict is None:
        raise RuntimeError("recovery runs only after a verdict")
    failures = failures_of(verdict, attempt=task.attempt)
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
    context.trace("RECOVERED", f"{fix.id} from {len(known)} failures so far")
    context.emit("recovering", fix=fix.id, failures=len(known))
    return {**update, "attempt": fix}


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
    seen = repeats([attempt.failures for attempt in state.attempts], policy.stall_window)
    if seen is not None:
        return (
            "recovery_stalled",
            f"attempt {task.attempt} failed exactly as attempt {state.attempts[seen].attempt} did",
        )
    if state.made_by == "aggregate" and context.parts.closing_aggregate:
        return "recovery_exhausted", "a combined answer is verified once"
    if task.attempt >= (task.limit or policy.max_attempts):
        return "recovery_exhausted", f"no attempt of {task.attempt} was accepted (max_attempts)"
    if not context.take_fix():
        return (
            "recovery_exhausted",
            f"the tree has made all its {policy.max_fixes_total} fixes (max_fixes_total)",
        )
    return None


def _next_start(state: TaskState) -> Literal["decompose", "solve", "aggregate"]:
    """A fix keeps its predecessor's shape; only a re-aggregation that failed too is planned anew (rules.md 11)."""
    if state.made_by == "aggregate" and state.attempt.start == "aggregate":
        return "decompose"
    return state.made_by
