"""How a task ends: the outputs of each end of a run (rules.md 7)."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage

from langgraph_recursive.state.report import TaskReport, failed_report
from langgraph_recursive.state.task import Attempt, Halt, HaltType, Partial, Task
from langgraph_recursive.state.trace import cut
from langgraph_recursive.state.usage import Usage
from langgraph_recursive.state.verdict import ValidationResult

from .context import CallFailed, Context
from .frame import Frame

__all__ = ("accepted", "deterministic_verdict", "halted")


def accepted(frame: Frame, context: Context, verdict: ValidationResult) -> dict[str, Any]:
    """End with an accepted answer."""
    report = frame.answered
    if report.missing:
        report = report.model_copy(update={"outcome": "partial"})
    attempt = _attempt(frame, context.attempt, verdict)
    context.emit("accepted", verified=verdict.verified, answer=cut(report.text))
    return {
        "report": report,
        "verdict": verdict,
        "attempts": [*frame.attempts, attempt],
        "output": report.text,
        "partial": [],
        "success": True,
        "verified": verdict.verified,
        "halt": None,
        **_root_outputs(frame, context, report.text),
    }


def halted(
    frame: Frame,
    context: Context,
    kind: HaltType,
    detail: str,
    *,
    error: CallFailed | None = None,
    report: TaskReport | None = None,
    verdict: ValidationResult | None = None,
    child: Halt | None = None,
    partial: list[Partial] | None = None,
) -> dict[str, Any]:
    """End without an accepted answer. What was finished is kept in `partial`.

    Args:
        frame: The state as the node found it.
        context: The node's context.
        kind: Type of the halt.
        detail: Why, in words.
        error: The component's failure behind it.
        report: The task's report, if there is one; else a failed one is made.
        verdict: The verdict of its last attempt; else the deterministic one.
        child: The halt of the child behind it.
        partial: What was finished; else the accepted children's answers and the best rejected one.
    """
    task = context.attempt
    halt = Halt(
        type=kind,
        task_id=task.id,
        attempt=task.attempt,
        detail=detail,
        error_type=error.error_type if error else None,
        child=child,
    )
    context.trace("HALTED", f"{kind}: {detail}")
    context.emit("halted", halt=kind, detail=detail)
    if report is None:
        report = failed_report(
            f"{kind}: {detail}",
            outcome="protocol_error" if kind == "protocol_error" else "failed",
            raw=error.raw if error else "",
        )
    report = report.model_copy(update={"child_task_id": task.id})
    verdict = verdict or deterministic_verdict(task, f"{kind}: {detail}", error=kind == "validator_error")
    known = {attempt.id for attempt in frame.attempts}
    attempts = frame.attempts if task.id in known else [*frame.attempts, _attempt(frame, task, None)]
    closing = attempts[-1].model_copy(update={"halt": kind})
    return {
        "report": report,
        "verdict": verdict,
        "attempts": [*attempts[:-1], closing],
        "output": None,
        "partial": finished_parts(frame) if partial is None else partial,
        "success": False,
        "verified": False,
        "halt": halt,
        **_root_outputs(frame, context, f"No accepted answer: {kind}. {detail}"),
    }


def finished_parts(frame: Frame) -> list[Partial]:
    """The best rejected answer of the task itself, then what its children finished."""
    parts = [frame.best] if frame.best is not None else []
    for child in frame.plan:
        result = frame.children.get(child.id)
        if result is None:
            continue
        if result.passed:
            parts.append(
                Partial(
                    task_id=result.report.child_task_id,
                    task=child.brief.objective,
                    text=result.report.text,
                    verified=result.verdict.verified,
                )
            )
        parts += result.partial
    return parts


def deterministic_verdict(task: Task, issue: str, *, error: bool = False) -> ValidationResult:
    """The verdict of an attempt with nothing to verify: failed, or `error`, without any call."""
    return ValidationResult(
        evaluated_task_id=task.id, outcome="error" if error else "failed", issues=[issue], checked=False
    )


def _attempt(frame: Frame, task: Task, verdict: ValidationResult | None) -> Attempt:
    return Attempt(
        id=task.id,
        attempt=task.attempt,
        outcome=verdict.outcome if verdict else "none",
        start=frame.made_by if frame.report is not None else task.start,
    )


def _root_outputs(frame: Frame, context: Context, text: str) -> dict[str, Any]:
    """What only the root gives: the traces and usage of the whole tree, and the message a chat host reads."""
    if not context.outermost:
        return {}
    run, number = context.run, context.attempt.run
    spent = run.ledger.spent(number)
    return {
        "traces": run.traces(number),
        "usage": spent,
        "total_usage": frame.total_usage + spent,
        "messages": [AIMessage(content=text or "(empty answer)", name=context.name)],
    }


def empty_outputs() -> dict[str, Any]:
    """What a new run starts with, so that an interrupted one does not show the last run's result."""
    return {
        "output": None,
        "partial": [],
        "success": False,
        "verified": False,
        "halt": None,
        "report": None,
        "verdict": None,
        "attempts": [],
        "traces": [],
        "usage": Usage(),
    }
