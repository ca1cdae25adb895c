"""What a part of the benchmark hands back, and how it is shown."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

__all__ = ("Part", "Target", "median", "medians", "show")

Row = dict[str, Any]
_PLAIN_WIDTH = 160


@dataclass(frozen=True)
class Target:
    """A figure that is to be reached."""

    what: str
    value: float
    limit: float

    @property
    def met(self) -> bool:
        return self.value <= self.limit


@dataclass(frozen=True)
class Part:
    """One part's result.

    Attributes:
        title: What was measured.
        rows: One per line of the table, keyed by column.
        targets: Figures with a limit.
        notes: How to read the table.
    """

    title: str
    rows: Sequence[Row]
    targets: Sequence[Target] = ()
    notes: Sequence[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The part as plain data."""
        targets = [{**asdict(target), "met": target.met} for target in self.targets]
        return {"title": self.title, "rows": list(self.rows), "targets": targets, "notes": list(self.notes)}


def median(values: Iterable[float], digits: int = 2) -> float:
    """The median, rounded."""
    return round(statistics.median(values), digits)


def medians(times: int, variants: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Measure every variant in turn, several times over, so that a busy minute hits all of them alike."""
    found: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(times):
        for name, measure in variants.items():
            found[name].append(measure())
    return {name: statistics.median(values) for name, values in found.items()}


def show(part: Part, console: Console | None = None) -> None:
    """Print one part: a table on a terminal, plain columns elsewhere."""
    terminal = sys.stdout.isatty()
    console = console or Console(width=None if terminal else _PLAIN_WIDTH, highlight=False)
    columns = list(dict.fromkeys(name for row in part.rows for name in row))
    table = RichTable(title=part.title, title_justify="left", box=box.SIMPLE_HEAD if terminal else None)
    for name in columns:
        numeric = all(isinstance(row.get(name, 0), int | float) for row in part.rows)
        table.add_column(name, justify="right" if numeric else "left")
    for row in part.rows:
        table.add_row(*(_cell(row.get(name, "")) for name in columns))
    console.print(table)
    for target in part.targets:
        word = "reached" if target.met else "MISSED"
        console.print(f"  target {target.what}: {target.value:g} (at most {target.limit:g}): {word}", markup=False)
    for note in part.notes:
        console.print(f"  {note}", markup=False)
    console.print()


def _cell(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
