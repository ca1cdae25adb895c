"""The aggregator, and the table as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from langgraph_recursive.nodes.components import inline
from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.report import TaskReport, Validation
from langgraph_recursive.state.task import Task

from .order import Order, messages_of, parse_order

__all__ = ("Row", "make_table", "render_table", "rows_of", "table_rows")

_HEAD = ("no", "customer", "item", "quantity", "state")
_CELL = 40
_NUMBER = re.compile(r"[A-Za-z0-9-]+\.(\d+)(?:_fix_\d+)?")


@dataclass(frozen=True)
class Row:
    """One message's place in the table.

    Attributes:
        number: Number of the message, from 1.
        order: What was read; None when there is nothing usable.
        verified: Whether every check accepted it.
    """

    number: int
    order: Order | None
    verified: bool


@dataclass(frozen=True)
class Accepted:
    """A row that passed its checks."""

    number: int
    order: Order


@inline
def make_table(task: Task, results: Sequence[Answer], missing: Sequence[str]) -> TaskReport:
    """The aggregator: one row for each accepted order. It changes nothing and fills no gap."""
    read = [(_message_number(result.task_id), parse_order(str(result))) for result in results]
    rows = [Row(number, order, verified=True) for number, order in read if number is not None]
    orders = [{"number": row.number, **asdict(row.order)} for row in rows if row.order is not None]
    count = len(messages_of(task.intent))
    summary = f"{len(orders)} of {count} messages read and verified; {len(missing)} not verified"
    return TaskReport(
        summary=summary,
        outcome="satisfied",
        validation=Validation(hard_passed=True),
        outputs=[{"text": _text(rows)}, {"orders": orders}],
    )


def _message_number(task_id: str) -> int | None:
    match = _NUMBER.fullmatch(task_id)
    return int(match[1]) if match else None


def _order(entry: Mapping[str, Any]) -> Order:
    return Order(int(entry["quantity"]), str(entry["item"]), str(entry["customer"]))


def rows_of(report: TaskReport | None) -> list[Accepted]:
    """The rows of a table's report."""
    entries = report.outputs[1].get("orders", []) if report and len(report.outputs) > 1 else []
    return [Accepted(int(entry["number"]), _order(entry)) for entry in entries]


def table_rows(result: Mapping[str, Any]) -> list[Row]:
    """Every message's row: verified ones, then for the others the best that was read, marked as not verified.

    Args:
        result: What the demo's solver returned.
    """
    report = result.get("report")
    rows = {
        row.number: Row(row.number, row.order, verified=True)
        for row in (rows_of(report) if result.get("success") else [])
    }
    for number, order in _guesses(result):
        known = rows.get(number)
        if known is None or (not known.verified and order is not None):
            rows[number] = Row(number, order, verified=False)
    for task_id in report.missing if report else ():
        absent = _message_number(task_id)
        if absent is not None:
            rows.setdefault(absent, Row(absent, None, verified=False))
    return [rows[number] for number in sorted(rows)]


def _guesses(result: Mapping[str, Any]) -> Iterator[tuple[int, Order | None]]:
    """What was read, the least refused answer of each message last.

    A successful run keeps what was not accepted in its traces only, where answers are cut to 80 characters.
    """
    solved: dict[str, Order | None] = {}
    refusals: dict[str, int] = {}
    for trace in result.get("traces") or ():
        if trace.type == "SOLVED":
            solved[trace.task_id] = parse_order(trace.detail)
        elif trace.type == "VERIFIED":
            refusals[trace.task_id] = trace.detail.count(";")
    tried = list(solved)[::-1]  # among equals the first attempt, on which no evidence had narrowed the choice
    tried.sort(key=lambda task_id: -refusals.get(task_id, 0))
    kept = [(part.task_id, parse_order(part.text)) for part in result.get("partial") or ()]
    for task_id, order in [*((task_id, solved[task_id]) for task_id in tried), *kept]:
        number = _message_number(task_id)
        if number is not None:
            yield number, order


def render_table(result: Mapping[str, Any]) -> str:
    """Write the table as plain text. What no check accepted is marked; a message without a usable answer is listed.

    Args:
        result: What the demo's solver returned.
    """
    rows = table_rows(result)
    verified = sum(row.verified for row in rows)
    lines = [_text(rows), "", f"{verified} of {len(rows)} orders verified."]
    if open_rows := [row for row in rows if not row.verified]:
        numbers = ", ".join(str(row.number) for row in open_rows)
        lines.append(f"Not verified, please read these messages yourself: {numbers}.")
    return "\n".join(lines)


def _text(rows: Sequence[Row]) -> str:
    cells = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEAD))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _cells(row: Row) -> tuple[str, ...]:
    if row.order is None:
        return str(row.number), "", "", "", "MISSING"
    state = "verified" if row.verified else "NOT VERIFIED"
    return str(row.number), _cell(row.order.customer), _cell(row.order.item), str(row.order.quantity), state


def _cell(text: str) -> str:
    """A text from a message on one line, without what could steer a terminal."""
    safe = "".join(char if char.isprintable() else " " for char in text)
    safe = " ".join(safe.split())
    return safe if len(safe) <= _CELL else safe[: _CELL - 1] + "\u2026"
