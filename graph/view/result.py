"""Task views of a result: the root's attempts with their evidence, all other tasks from the traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.ids import root_ref
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.task import Attempt, Halt
from langgraph_recursive.state.trace import SolveTrace
from langgraph_recursive.state.verdict import ValidationResult

from .growing import order, said
from .stored import attempt_of, linked
from .views import AttemptView, TaskView
from .words import Status

__all__ = ("views_of_result",)

_TRACES = TypeAdapter(list[SolveTrace])
_ATTEMPTS = TypeAdapter(list[Attempt])


def views_of_result(result: Any) -> list[TaskView]:
    """Read a result.

    Args:
        result: What `invoke` gave, as it is or as JSON, or a SolveResult.

    Raises:
        InvalidInputError: It is no result.
    """
    given = result if isinstance(result, Mapping) else getattr(result, "__dict__", {})
    try:
        traces = _TRACES.validate_python([*map(_plain, given.get("traces") or ())])
        attempts = _ATTEMPTS.validate_python([*map(_plain, given.get("attempts") or ())])
        halt = None if given.get("halt") is None else Halt.model_validate(_plain(given["halt"]))
        verdict = None if given.get("verdict") is None else ValidationResult.model_validate(_plain(given["verdict"]))
        report = None if given.get("report") is None else TaskReport.model_validate(_plain(given["report"]))
    except ValidationError as error:
        raise InvalidInputError(f"this is no result of a run: {error}", field="result") from error
    if not traces and not attempts:
        raise InvalidInputError(
            "this is no result of a run: it has no traces and no attempts", field="result", value=type(result).__name__
        )
    views = _views_of_traces(traces)
    _take_root(views, attempts, halt, verdict, report, given)
    return [view for view in views.values() if view.parent is None]


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def _views_of_traces(traces: Sequence[SolveTrace]) -> dict[str, TaskView]:
    views: dict[str, TaskView] = {}
    attempts: dict[str, AttemptView] = {}
    for trace in sorted(traces, key=lambda trace: trace.time):
        key = root_ref(trace.task_id)
        view = views.setdefault(key, TaskView(key, key.rpartition(".")[0] or None, status="working"))
        view.objective = trace.task
        attempt = attempts.setdefault(trace.task_id, AttemptView(trace.task_id, _number(trace.task_id)))
        _take_trace(view, attempt, trace)
    for attempt in attempts.values():
        views[root_ref(attempt.id)].attempts.append(attempt)
    for view in sorted(views.values(), key=lambda view: order(view.id)):
        linked(view.attempts)
        view.answer = view.attempts[-1].answer if view.status in ("checked", "unchecked") else ""
        parent = views.get(root_ref(view.parent)) if view.parent is not None else None
        if parent is not None:
            parent.children.append(view)
        else:
            view.parent = None
    return views


def _number(task_id: str) -> int:
    number = task_id.rpartition("_fix_")[2]
    return int(number) + 1 if root_ref(task_id) != task_id else 1


def _take_trace(view: TaskView, attempt: AttemptView, trace: SolveTrace) -> None:
    match trace.type:
        case "DECOMPOSED":
            view.status = "working" if trace.detail.startswith("0:") else "split"
        case "SOLVED" | "AGGREGATED":
            view.status = "checking"
            attempt.made_by = "solve" if trace.type == "SOLVED" else "aggregate"
            attempt.answer = trace.detail
        case "VERIFIED":
            word, _, words = trace.detail.partition(": ")
            attempt.outcome = {"ACCEPTED": "passed", "REJECTED": "failed", "ERROR": "error"}.get(word, "none")
            view.status = "checked" if attempt.outcome == "passed" else "checking"
            attempt.failures = [] if attempt.outcome == "passed" else [said(attempt, words)]
            attempt.whole = False
        case "RECOVERED":
            view.status = "repairing"
        case "HALTED":
            kind, _, detail = trace.detail.partition(": ")
            view.halt = _halt_of_trace(attempt, kind, detail)
            attempt.halt = kind
            view.status = "stopped" if kind == "cancelled" else "halted"


def _halt_of_trace(attempt: AttemptView, kind: str, detail: str) -> Halt | None:
    try:
        return Halt.model_validate({"type": kind, "task_id": attempt.id, "attempt": attempt.number, "detail": detail})
    except ValidationError:
        return None


def _take_root(
    views: dict[str, TaskView],
    attempts: Sequence[Attempt],
    halt: Halt | None,
    verdict: ValidationResult | None,
    report: TaskReport | None,
    given: Mapping[str, Any],
) -> None:
    """The result says more of the root than its traces do."""
    if not attempts:
        return
    key = root_ref(attempts[0].id)
    root = views.setdefault(key, TaskView(key))
    told = {attempt.id: attempt for attempt in root.attempts}
    known = [attempt_of(attempt, verdict, report) for attempt in attempts]
    for attempt in known:
        attempt.answer = attempt.answer or (told[attempt.id].answer if attempt.id in told else "")
    root.attempts = linked(known)
    root.halt = halt
    status: Status = "checked" if given.get("verified") else "unchecked"
    if halt is not None:
        status = "stopped" if halt.type == "cancelled" else "halted"
    root.status = status
    root.answer = str(given.get("output") or "")
