"""Task views from the three places that know about a run: its events, its checkpoints, its result."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.ids import root_ref
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.task import Attempt, Halt
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import SolveTrace
from langgraph_recursive.state.verdict import ValidationResult

from ..history import TaskRecord
from .promised import checked
from .rows import Row, Status, Tree, order
from .views import AttemptView, TaskView
from .words import check_name

__all__ = ("last_run_events", "views_of_events", "views_of_records", "views_of_result")


def last_run_events(events: Iterable[Mapping[str, Any]], run_id: str | None = None) -> list[dict[str, Any]]:
    """The events of one run: the one named, or else of the last task that was started, its resumes included.

    Raises:
        InvalidInputError: An event lacks what its type promises.
    """
    chosen = [event for event in checked(events) if run_id is None or event["run_id"] == run_id]
    first, seen = 0, None
    for index, event in enumerate(chosen):
        starts = event["type"] == "task_started" and event["parent_id"] is None and event["attempt"] == 1
        if starts and event["run_id"] != seen:
            first = index
        seen = event["run_id"]
    return chosen[first:]


# --- events ---


def views_of_events(events: Iterable[Mapping[str, Any]]) -> list[TaskView]:
    """Read events, those of one run as `last_run_events` gives them."""
    tree = Tree()
    attempts: dict[str, AttemptView] = {}
    tokens: dict[str, int] = defaultdict(int)
    halts: dict[str, Halt] = {}
    for event in events:
        tree.feed(event)
        task_id = event["task_id"]
        attempt = attempts.setdefault(task_id, AttemptView(task_id, event["attempt"]))
        _take(attempt, event, event["data"], attempts)
        if event["type"] == "halted":
            halts[root_ref(task_id)] = _halt(event)
        usage = event["usage"] if event["type"] == "call_finished" and event["usage"] else {}
        tokens[root_ref(task_id)] += usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    views = {row.id: _view_of_row(row) for row in tree.rows.values()}
    for view in views.values():
        view.tokens = tokens[view.id]
        view.halt = halts.get(view.id) if view.status in ("halted", "stopped") else None
    _give_attempts(views, attempts.values())
    return _nested(views, tree)


def _take(
    attempt: AttemptView, event: Mapping[str, Any], data: Mapping[str, Any], attempts: Mapping[str, AttemptView]
) -> None:
    match event["type"]:
        case "solved" | "aggregated":
            attempt.made_by = "solve" if event["type"] == "solved" else "aggregate"
            attempt.answer = data["answer"]
        case "verified":
            attempt.outcome = data["outcome"]
            attempt.failures = [_said(attempt, issue) for issue in data["issues"]]
        case "recovering":
            attempt.next = data["fix"]
        case "accepted":
            attempt.answer = data["answer"]
        case "halted":
            attempt.halt = data["halt"]
        case "rewound":
            for undone in data["undone"]:
                if undone in attempts:
                    attempts[undone].rewound = True


def _said(attempt: AttemptView, text: str) -> Failure:
    return Failure(attempt=attempt.number, validator_id="", justification=text, task_id=attempt.id)


def _halt(event: Mapping[str, Any]) -> Halt:
    data = event["data"]
    return Halt.model_validate(
        {"type": data["halt"], "task_id": event["task_id"], "attempt": event["attempt"], "detail": data["detail"]}
    )


def _view_of_row(row: Row) -> TaskView:
    taken = None if row.started is None or row.ended is None else row.ended - row.started
    return TaskView(row.id, row.parent, row.objective, row.status, calls=row.calls, duration=taken)


def _give_attempts(views: Mapping[str, TaskView], attempts: Iterable[AttemptView]) -> None:
    for attempt in sorted(attempts, key=lambda attempt: attempt.number):
        view = views[root_ref(attempt.id)]
        view.attempts.append(attempt)
        view.answer = attempt.answer if view.status in ("checked", "unchecked") else ""


def _nested(views: Mapping[str, TaskView], tree: Tree) -> list[TaskView]:
    """Put children under their parents; those of a plan that was given up say so."""
    roots = []
    for view in views.values():
        parent = views.get(root_ref(view.parent)) if view.parent is not None else None
        if parent is None:
            roots.append(view)
            continue
        parent.children.append(view)
        view.given_up = tree.given_up(tree.rows[view.id])
    return roots


# --- checkpoints ---


def views_of_records(tasks: Sequence[TaskRecord]) -> list[TaskView]:
    """Read what the checkpoints tell of the tasks of one run, in the order of `last_run`."""
    tree = Tree()
    tree.load(tasks)
    states = {record.task.root_ref: record for record in tasks}
    views = {row.id: _view_of_row(row) for row in tree.rows.values()}
    for task_id, record in states.items():
        view, state = views[task_id], record.state
        view.calls = sum(known.usage.calls for known in tasks if known.task.root_ref == task_id)
        view.tokens = sum(known.usage.total_tokens for known in tasks if known.task.root_ref == task_id)
        view.duration = state.elapsed
        view.halt = state.halt
        view.answer = state.answered.text if state.ended and state.halt is None else ""
        view.attempts = _attempts_of(state)
        made = {trace.task_id: trace.detail for trace in state.log if trace.type in ("SOLVED", "AGGREGATED")}
        for attempt in view.attempts:  # the whole answer is kept of the last attempt only
            attempt.answer = attempt.answer or made.get(attempt.id, "")
    return _nested(views, tree)


def _attempts_of(state: TaskState) -> list[AttemptView]:
    attempts = [_attempt(known, state.verdict, state.report) for known in state.attempts]
    current = state.attempt
    if current.id not in {attempt.id for attempt in attempts}:
        answer = "" if state.report is None else state.report.text
        made_by = "" if state.report is None else state.made_by
        attempts.append(AttemptView(current.id, current.attempt, made_by=made_by, answer=answer))
    attempts.sort(key=lambda attempt: attempt.number)
    return _linked(attempts)


def _attempt(known: Attempt, verdict: ValidationResult | None, report: TaskReport | None) -> AttemptView:
    view = AttemptView(
        known.id,
        known.attempt,
        outcome=known.outcome,
        made_by=known.start,
        failures=known.failures,
        halt=known.halt,
        rewound=known.rewound,
    )
    if verdict is not None and verdict.evaluated_task_id == known.id:
        passed = [check for check in verdict.checks if check.status == "passed"]
        view.passed = [(check_name(check.validator_id, check.check_id), check.justification) for check in passed]
    if report is not None and report.child_task_id == known.id and report.answered:
        view.answer = report.text
    return view


def _linked(attempts: list[AttemptView]) -> list[AttemptView]:
    for one, two in itertools.pairwise(attempts):
        one.next = one.next or two.id
    return attempts


# --- result ---

_TRACES = TypeAdapter(list[SolveTrace])
_ATTEMPTS = TypeAdapter(list[Attempt])


def views_of_result(result: Any) -> list[TaskView]:
    """Read a result: the root's attempts with their evidence, all other tasks from the traces.

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
    _give_attempts(views, attempts.values())
    for view in sorted(views.values(), key=lambda view: order(view.id)):
        _linked(view.attempts)
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
            word, _, said = trace.detail.partition(": ")
            attempt.outcome = {"ACCEPTED": "passed", "REJECTED": "failed", "ERROR": "error"}.get(word, "none")
            view.status = "checked" if attempt.outcome == "passed" else "checking"
            attempt.failures = [] if attempt.outcome == "passed" else [_said(attempt, said)]
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
    known = [_attempt(attempt, verdict, report) for attempt in attempts]
    for attempt in known:
        attempt.answer = attempt.answer or (told[attempt.id].answer if attempt.id in told else "")
    root.attempts = _linked(sorted(known, key=lambda attempt: attempt.number))
    root.halt = halt
    status: Status = "checked" if given.get("verified") else "unchecked"
    if halt is not None:
        status = "stopped" if halt.type == "cancelled" else "halted"
    root.status = status
    root.answer = str(given.get("output") or "")
