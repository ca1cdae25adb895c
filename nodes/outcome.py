"""How a task ends: the outputs of each end of a run (rules.md 7)."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage

from langgraph_recursive.state._model import plain
from langgraph_recursive.state.failure import failures_of
from langgraph_recursive.state.report import TaskReport, failed_report
from langgraph_recursive.state.task import Attempt, Halt, HaltType, Partial, Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import cut
from langgraph_recursive.state.verdict import RetryFrom, ValidationResult

from .context import CallFailed, Context

__all__ = ("accepted", "deterministic_verdict", "finished_parts", "halted", "left_out", "no_outputs", "outputs")


def accepted(state: TaskState, context: Context, verdict: ValidationResult) -> dict[str, Any]:
    """End with an accepted answer; where the budget ran out on the way, it is only a part."""
    report = state.answered
    if state.out_of_budget is not None:
        part = Partial(
            task_id=state.attempt.id,
            task=state.attempt.brief.objective,
            text=report.text,
            verified=verdict.verified,
        )
        return halted(
            state.model_copy(update={"best": part}),
            context,
            "budget_exhausted",
            state.out_of_budget,
            report=report.model_copy(update={"outcome": "partial"}),
            verdict=verdict,
        )
    if report.missing:
        report = report.model_copy(update={"outcome": "partial"})
    attempt = _attempt(state, context.attempt, verdict)
    context.emit_ended("accepted", state, verified=verdict.verified, answer=cut(report.text))
    return {
        "report": report,
        "verdict": verdict,
        "attempts": [*state.attempts, attempt],
        "halt": None,
        "partial": left_out(state),
    }


def halted(
    state: TaskState,
    context: Context,
    kind: HaltType,
    detail: str,
    *,
    error: CallFailed | None = None,
    report: TaskReport | None = None,
    verdict: ValidationResult | None = None,
    child: Halt | None = None,
) -> dict[str, Any]:
    """End without an accepted answer, or ask a person first. What was finished is kept in `partial`.

    Args:
        state: The state as the node found it.
        context: The node's context.
        kind: Type of the halt.
        detail: Why, in words.
        error: The component's failure behind it.
        report: The task's report, if there is one; else a failed one is made.
        verdict: The verdict of its last attempt; else the deterministic one.
        child: The halt of the child behind it.
    """
    task = context.attempt
    left_by = _left_by(state, kind, child)
    halt = Halt(
        type=kind,
        task_id=task.id,
        attempt=task.attempt,
        detail=detail,
        error_type=error.error_type if error else None,
        child=child,
        left_by=left_by,
    )
    context.trace("HALTED", f"{kind}: {detail}")
    if kind == "budget_exhausted":
        context.run.spent_out(task, detail)
    context.emit_ended("halted", state, halt=kind, detail=detail)
    if report is None:
        report = failed_report(
            f"{kind}: {detail}",
            outcome="protocol_error" if kind == "protocol_error" else "failed",
            raw=error.raw if error else "",
        )
    report = report.model_copy(update={"child_task_id": task.id})
    known = {attempt.id for attempt in state.attempts}
    attempts = state.attempts if task.id in known else [*state.attempts, _attempt(state, task, verdict)]
    closing = attempts[-1].model_copy(update={"halt": kind})
    return {
        "report": report,
        "verdict": verdict or deterministic_verdict(task, f"{kind}: {detail}"),
        "attempts": [*attempts[:-1], closing],
        "halt": halt,
        "asking": left_by is None and _asks(kind, context),
        "partial": finished_parts(state),
    }


def _left_by(state: TaskState, kind: HaltType, child: Halt | None) -> str | None:
    """Who let a halt stand that this one only follows from."""
    if kind not in ("child_failed", "budget_exhausted"):
        return None
    behind = [child, *(result.halt for result in state.children.values())]
    halts = [halt for halt in behind if halt is not None and (kind == "child_failed" or halt.type == kind)]
    return next((halt.left_by for halt in halts if halt.left_by), None)


def _asks(kind: HaltType, context: Context) -> bool:
    """Whether a person is asked: not about what was stopped on purpose, nor where nobody could answer."""
    return context.policy.interrupt_on_halt and kind != "cancelled" and context.run.durable


def left_out(state: TaskState) -> list[Partial]:
    """What children without an accepted answer finished all the same; a `best_effort` answer does not hold it."""
    results = [state.children[child] for child in state.missing if child in state.children]
    return [part for result in results for part in result.partial]


def finished_parts(state: TaskState) -> list[Partial]:
    """The best rejected answer of the task itself, then what its children finished, also those of a plan given up."""
    parts = [state.best] if state.best is not None else []
    parts += [part for part in state.partial if part not in parts]
    for child in state.plan:
        result = state.children.get(child.id)
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


def deterministic_verdict(task: Task, issue: str) -> ValidationResult:
    """The verdict of an attempt that there is nothing to verify of: failed, without any call; it starts over."""
    again = RetryFrom(task_id=task.id, at=task.start)
    return ValidationResult(
        evaluated_task_id=task.id, outcome="failed", issues=[issue], retry_from=again, checked=False
    )


def _attempt(state: TaskState, task: Task, verdict: ValidationResult | None) -> Attempt:
    return Attempt(
        id=task.id,
        attempt=task.attempt,
        outcome=verdict.outcome if verdict else "none",
        start=state.made_by if state.report is not None else task.start,
        failures=failures_of(verdict, attempt=task.attempt) if verdict else [],
    )


def outputs(state: TaskState, context: Context, name: str) -> dict[str, Any]:
    """What a run gives back: all of it follows from the root's state, its ledger and its traces.

    Args:
        state: The root's state at its end.
        context: Its context.
        name: Name of the solver's graph, the author of the message.
    """
    run, number = context.run, context.attempt.run
    spent = run.ledger.spent(number)
    accepted_answer = state.halt is None
    typed = {
        "partial": state.partial,
        "halt": state.halt,
        "report": state.report,
        "verdict": state.verdict,
        "attempts": state.attempts,
        "usage": spent,
        "total_usage": state.earlier + spent,
    }
    return {
        "output": state.answered.text if accepted_answer else None,
        "success": accepted_answer,
        "waived_by": state.verdict.waived_by if accepted_answer and state.verdict is not None else None,
        "verified": accepted_answer and state.verdict is not None and state.verdict.verified,
        **{name: plain(value) for name, value in typed.items()},
        "traces": run.traces(number),
        "messages": [AIMessage(content=_message(state), name=name, id=_message_id(state, context))],
    }


def _message_id(state: TaskState, context: Context) -> str | None:
    """The id of the model's message that is the answer: who streams messages sees it once.

    Not one that the conversation has already, as a cached model may give: the answer would take that message's place.
    """
    if state.halt is not None:
        return None
    known = {message.id for message in context.given.get("messages") or []}
    found = context.run.message_id(state.answered.text)
    return None if found in known else found


def _message(state: TaskState) -> str:
    """What a chat host reads, which sees nothing but text: never empty, and a halt says so."""
    if state.halt is None:
        return state.answered.text or "(empty answer)"
    return f"No accepted answer: {state.halt.type}. {state.halt.detail}"


def no_outputs() -> dict[str, Any]:
    """What the outputs are while a run goes on, so that an interrupted one does not show the last run's result."""
    return {
        "output": None,
        "partial": [],
        "success": False,
        "verified": False,
        "waived_by": None,
        "halt": None,
        "report": None,
        "verdict": None,
        "attempts": [],
        "usage": {},
    }
