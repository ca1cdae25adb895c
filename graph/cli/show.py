"""`show` and `runs`: what the checkpoints tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from rich.console import Console
from rich.table import Table
from rich.text import Text

from langgraph_recursive.state.evidence import Evidence
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.ids import root_ref
from langgraph_recursive.state.task import Attempt
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.usage import Usage
from langgraph_recursive.state.verdict import ValidationResult

from ..history import TaskRecord
from ..view.rows import Row, Tree
from ..view.safe import one_line, shortened, visible
from ..view.words import WORDS, bounded, check_name, counted
from .look import clock, mark
from .runs import Runs

__all__ = ("run_summary", "show_runs", "show_thread", "thread_as_json")

_EVIDENCE_LINES = 16
_TASK_CHARS = 60
_ANSWER_CHARS = 200
_OBJECTIVE_CHARS = 100


# --- runs ---


def run_summary(runs: Runs, thread: str) -> dict[str, Any]:
    """One thread in a few values."""
    latest = runs.known(thread)
    root = runs.root(latest)
    usage = _spent(runs, thread, latest, root)
    return {
        "thread": thread,
        "task": "" if root is None else root.task.intent,
        "state": _thread_state(None if root is None else root.state, latest),
        "attempts": 0 if root is None else root.task.attempt,
        "tasks": usage.tasks,
        "calls": usage.calls,
        "when": str(latest.checkpoint["ts"]),
    }


def _spent(runs: Runs, thread: str, latest: CheckpointTuple, root: TaskRecord | None) -> Usage:
    """What the last run has spent: the root knows it at the end; until then it is added up."""
    total = latest.checkpoint["channel_values"].get("usage")
    if root is not None and root.state.ended and total is not None:
        return Usage.model_validate(total)
    return sum((record.usage for record in runs.tasks(thread)), Usage())


def _thread_state(root: TaskState | None, latest: CheckpointTuple) -> str:
    channels = {channel for _, channel, _ in latest.pending_writes or ()}
    if root is None or not root.ended:
        return "asks" if "__interrupt__" in channels else "unfinished"
    if root.halt is not None:
        return root.halt.type
    return "accepted" if root.verdict is not None and root.verdict.verified else "not checked"


_STATE_STYLES = {"accepted": "green", "not checked": "default", "unfinished": "yellow", "asks": "magenta"}


def show_runs(summaries: list[dict[str, Any]], console: Console) -> None:
    """Print the threads as a table."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("thread", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("attempts", "calls"):
        table.add_column(name, no_wrap=True, justify="right")
    table.add_column("when", no_wrap=True)
    table.add_column("task", no_wrap=True, overflow="ellipsis")
    for entry in summaries:
        table.add_row(
            Text(one_line(entry["thread"])),
            Text(entry["state"], _STATE_STYLES.get(entry["state"], "red")),
            str(entry["attempts"]),
            str(entry["calls"]),
            Text(_local(entry["when"]), "dim"),
            Text(shortened(entry["task"], _TASK_CHARS)),
        )
    console.print(table)


def _local(stamp: str) -> str:
    return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")


# --- show ---


def show_thread(tasks: list[TaskRecord], tree: Tree, console: Console) -> None:
    """Print the tree with each task's attempts, verdicts and evidence."""
    records = {root_ref(record.task.id): record for record in tasks}
    for root in tree.roots():
        _show_row(tree, root, records, console, "", "")


def _show_row(tree: Tree, row: Row, records: Mapping[str, TaskRecord], console: Console, lead: str, turn: str) -> None:
    head = Text.assemble(
        (lead + turn, "dim"), mark(row.status), " ", (row.id, "bold"), f" {shortened(row.objective, _OBJECTIVE_CHARS)}"
    )
    head.append(f"  {_summary(tree, row)}", "dim")
    console.print(head, soft_wrap=True)
    lead += {"": "", "├─ ": "│  ", "└─ ": "   "}[turn]
    children = tree.children(row, superseded=True)
    below = lead + ("│ " if children else "  ")
    record = records.get(row.id)
    for line in _details(record.state) if record is not None else ():
        console.print(Text.assemble((below, "dim"), line), soft_wrap=True)
    for child in children:
        last = child is children[-1]
        _show_row(tree, child, records, console, lead, "└─ " if last else "├─ ")


def _summary(tree: Tree, row: Row) -> str:
    word = WORDS.get(row.status, row.status)
    if row.status == "waiting":
        return word
    return f"{word} · attempt {row.attempt}/{tree.max_attempts} · {counted(row.calls, 'call')} · {clock(row)}".rstrip(
        "· "
    )


def _details(state: TaskState) -> Iterator[Text]:
    for entry in state.attempts:
        if entry.outcome != "none" or len(state.attempts) > 1:
            yield from _attempt(entry, state.verdict)
    if state.halt is not None:
        yield Text.assemble((state.halt.type, "red"), f"  {one_line(state.halt.detail)}")
    elif state.ended:
        yield Text.assemble(("answer  ", "dim"), shortened(state.answered.text, _ANSWER_CHARS))


def _attempt(attempt: Attempt, last: ValidationResult | None) -> Iterator[Text]:
    style = {"passed": "green", "none": "dim"}.get(attempt.outcome, "yellow")
    outcome = "no verdict" if attempt.outcome == "none" else attempt.outcome
    yield Text.assemble(("attempt ", "dim"), f"{attempt.attempt}  ", (outcome, style), (f"  {attempt.id}", "dim"))
    if last is not None and last.evaluated_task_id == attempt.id:
        for check in last.checks:
            if check.status == "passed":
                yield Text.assemble(
                    "  ", ("✓ ", "green"), check_name(check.validator_id, check.check_id), _said(check.justification)
                )
    for failure in attempt.failures:
        yield from _failure(failure)


def _said(justification: str) -> str:
    return f"  {one_line(justification)}" if justification else ""


def _failure(failure: Failure) -> Iterator[Text]:
    sign, style = ("✗ ", "red") if failure.severity == "blocker" else ("! ", "yellow")
    first, *more = visible(failure.justification).split("\n")
    name = check_name(failure.validator_id, failure.check_id)
    yield Text.assemble("  ", (sign, style), name, f"  {first}" if first else "")
    if not failure.evidence:
        yield from (Text(f"      {line}", "dim") for line in bounded(more, _EVIDENCE_LINES))
    for evidence in failure.evidence:
        yield from _evidence(evidence)


def _evidence(evidence: Evidence) -> Iterator[Text]:
    if not evidence.text.strip():
        return
    yield Text(f"    {one_line(evidence.label) or 'evidence'} ({evidence.size:,} characters)", "dim")
    yield from (
        Text(f"      {line}", "dim")
        for line in bounded(visible(evidence.text).strip("\n").split("\n"), _EVIDENCE_LINES)
    )


def thread_as_json(tasks: list[TaskRecord], tree: Tree, thread: str) -> dict[str, Any]:
    """A thread with all its tasks, for JSON."""
    records = {root_ref(record.task.id): record for record in tasks}
    return {"thread": thread, "tasks": [_row_as_json(row, records.get(row.id)) for row in tree.rows.values()]}


def _row_as_json(row: Row, record: TaskRecord | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": row.id,
        "parent_id": row.parent,
        "objective": row.objective,
        "status": row.status,
        "attempt": row.attempt,
        "calls": row.calls,
    }
    if record is not None:
        channels = {"attempts", "verdict", "halt", "report", "partial"}
        found |= record.state.model_dump(mode="json", include=channels)
        found["usage"] = record.usage
    return found
