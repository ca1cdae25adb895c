"""How a task is drawn: one line with a mark, the objective, and its columns."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ..view.rows import Row, Status, Tree
from ..view.safe import one_line
from ..view.words import SIGNS, WORDS, counted
from ..view.words import clock as seconds_of

__all__ = ("clock", "counts", "drawn", "lines", "mark")

_STYLES: dict[Status, str] = {
    "waiting": "dim",
    "working": "cyan",
    "split": "blue",
    "combining": "cyan",
    "checking": "cyan",
    "repairing": "yellow",
    "checked": "green",
    "unchecked": "default",
    "halted": "red",
    "stopped": "dim",
}

_MOVING: frozenset[Status] = frozenset({"working", "combining", "checking"})
_SPINNER = Spinner("dots")

Line = tuple[str, Row, int]
"""Guide lines, task, and how many tasks below it are not drawn."""


def mark(status: Status, *, moving: bool = False) -> Text:
    """The mark of a status; one that turns where the picture moves."""
    sign = SIGNS[status]
    if moving and status in _MOVING:
        frame = _SPINNER.render(time.monotonic())
        sign = frame.plain if isinstance(frame, Text) else sign
    return Text(sign, _STYLES[status])


def lines(tree: Tree, room: int) -> tuple[list[Line], int]:
    """Lay the tree out, one line a task, in at most `room` lines.

    Where it is too tall, finished parts fold into their topmost task, then waiting tasks are left out, then what is
    last.

    Returns:
        The lines, and the number of tasks left out.
    """
    whole = [line for root in tree.roots() for line in _walk(tree, root, fold=False)]
    if len(whole) <= room:
        return whole, 0
    folded = [line for root in tree.roots() for line in _walk(tree, root, fold=True)]
    if len(folded) <= room:
        return folded, 0
    busy = [line for line in folded if line[1].status != "waiting"]
    kept = busy[: room - 1]
    return kept, len(folded) - len(kept)


def _walk(tree: Tree, row: Row, *, fold: bool, lead: str = "", turn: str = "") -> Iterator[Line]:
    children = tree.children(row)
    if fold and row.over and row.parent is not None:
        yield lead + turn, row, sum(1 for _ in _beneath(tree, row))
        return
    yield lead + turn, row, 0
    lead += {"": "", "├─ ": "│  ", "└─ ": "   "}[turn]
    for child in children:
        last = child is children[-1]
        yield from _walk(tree, child, fold=fold, lead=lead, turn="└─ " if last else "├─ ")


def _beneath(tree: Tree, row: Row) -> Iterator[Row]:
    for child in tree.children(row):
        yield child
        yield from _beneath(tree, child)


def drawn(tree: Tree, room: int, *, moving: bool) -> Table:
    """The tree as a table: task, state, attempts, calls, time."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=False)
    table.add_column()  # the one that may shrink: its texts end in an ellipsis
    table.add_column(no_wrap=True, min_width=11)
    for _ in range(3):
        table.add_column(no_wrap=True, justify="right", min_width=4)
    shown, hidden = lines(tree, room)
    for guides, row, folded in shown:
        table.add_row(_task(guides, row, folded, moving), *_columns(tree, row))
    if hidden:
        table.add_row(Text(f"… {hidden} more", "dim"))
    return table


def _task(guides: str, row: Row, folded: int, moving: bool) -> Text:
    text = Text.assemble((guides, "dim"), mark(row.status, moving=moving), " ", no_wrap=True, overflow="ellipsis")
    text.append(one_line(row.objective), "dim" if row.status in ("waiting", "stopped") else "")
    if folded:
        text.append(f" (+{folded})", "dim")
    return text


def _columns(tree: Tree, row: Row) -> Iterator[Text]:
    yield Text(WORDS.get(row.status, row.status), _STYLES[row.status])
    tried = row.status != "waiting"
    again = "dim" if row.attempt == 1 else "yellow" if not row.over else ""
    yield Text(f"{row.attempt}/{tree.max_attempts}" if tried else "", again)
    yield Text(counted(row.calls, "call") if tried else "", "dim")
    yield Text(clock(row) if tried else "", "dim")


def clock(row: Row) -> str:
    """How long a task has taken."""
    if row.started is None:
        return ""
    return seconds_of((row.ended or time.time()) - row.started)


def counts(tree: Tree) -> str:
    """The whole run in a few numbers."""
    tasks = tree.shown()
    parts = [f"{sum(row.over for row in tasks)} of {counted(len(tasks), 'task')} done"]
    parts.append(counted(tree.calls, "call"))
    if tree.fixes:
        parts.append(counted(tree.fixes, "fix", "fixes"))
    return " · ".join(parts)
