"""How a tree is laid out in lines: one layout for text, for the terminal while a run grows, and for `show`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langgraph_recursive.state.evidence import Evidence
from langgraph_recursive.state.failure import Failure

from .safe import cells, one_line, shortened, visible
from .views import AttemptView, TaskView, columns, complaint
from .words import SIGNS, Tone, bounded, counted, tone_of

__all__ = ("Layout", "Line", "evidence_label", "plain")

_OBJECTIVE_CHARS = 80
_ANSWER_CHARS = 200
_SHORTEST = 8
_WORD = len("waits for a slot")
_TURNS = {"": "", "├─ ": "│  ", "└─ ": "   "}
_GAP = "  "
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_MOVING = frozenset({"working", "combining", "checking"})
_OUTCOMES: dict[str, Tone] = {"passed": "good", "none": "idle"}

Line = list[tuple[str, Tone]]
"""Pieces of text, each with what it means."""


def plain(line: Line) -> str:
    """A line without its tones."""
    return "".join(text for text, _ in line).rstrip()


@dataclass(frozen=True)
class _Row:
    """A task in its place: the guides before its sign, those under it, and how many tasks are folded into it."""

    lead: str
    below: str
    task: TaskView
    folded: int = 0


@dataclass(frozen=True)
class Layout:
    """What is wanted of the lines.

    Attributes:
        details: Whether what attempts did not pass, and halts, stand below their task.
        evidence: Lines of each piece of evidence to show; 0 shows none, nor what passed, nor answers.
        width: Columns of the terminal; None sets no limit.
        height: Lines that there is room for, likewise. Where the tree is too tall, finished parts fold into their
            topmost task, then waiting tasks are left out, then what is last.
        now: Seconds since the epoch while the run goes on: times run on, and signs turn.
    """

    details: bool = True
    evidence: int = 0
    width: int | None = None
    height: int | None = None
    now: float | None = None

    def lines(self, roots: Sequence[TaskView]) -> list[Line]:
        """Lay tasks out."""
        rows, hidden = self._fitting(roots)
        told = [columns(row.task, self.now) for row in rows]
        wide = [max(map(cells, column)) for column in zip(*told, strict=True)] if told else []
        if wide and self.now is not None:
            wide[0] = max(wide[0], _WORD)  # so that columns stand still while words change
        room = _room(self.width, wide)
        heads = [self._head(row, room) for row in rows]
        edge = max((cells(plain(head)) for head in heads), default=0)
        lines = []
        for row, head, texts in zip(rows, heads, told, strict=True):
            gap = " " * (edge - cells(plain(head)))
            lines.append([*head, (gap, ""), *_columns(texts, wide, tone_of(row.task.status))])
            if self.details:
                lines += [self._clipped([(row.below, "soft"), *line]) for line in self._details(row.task)]
        return [*lines, [(f"… {counted(hidden, 'more task')}", "soft")]] if hidden else lines

    def _clipped(self, line: Line) -> Line:
        """Cut a line off at the width; evidence is never cut."""
        if self.width is None or self.evidence or cells(plain(line)) <= self.width:
            return line
        kept: Line = []
        for text, tone in line:
            room = self.width - sum(cells(before) for before, _ in kept)
            if room < 1:
                break
            kept.append((_cut(text, room), tone))
        return kept

    # --- rows ---

    def _fitting(self, roots: Sequence[TaskView]) -> tuple[list[_Row], int]:
        whole = [row for root in roots for row in _walk(root)]
        if self.height is None or len(whole) <= self.height:
            return whole, 0
        folded = [row for root in roots for row in _walk(root, fold=True)]
        if len(folded) <= self.height:
            return folded, 0
        busy = [row for row in folded if row.task.status != "waiting"]
        kept = busy[: max(1, self.height - 1)]
        return kept, sum(1 + row.folded for row in folded) - sum(1 + row.folded for row in kept)

    def _head(self, row: _Row, room: int | None) -> Line:
        task = row.task
        fold = f" (+{row.folded})" if row.folded else ""
        sign = SIGNS[task.status]
        if self.now is not None and task.status in _MOVING and not task.queued:
            sign = _FRAMES[int(self.now * 10) % len(_FRAMES)]
        before: Line = [(row.lead, "soft"), (sign, tone_of(task.status)), (f" {one_line(task.id)} ", "bold")]
        left = _OBJECTIVE_CHARS if room is None else room - cells(plain(before)) - 1 - cells(fold)
        return [*before, (_cut(shortened(task.objective, _OBJECTIVE_CHARS), max(_SHORTEST, left)), ""), (fold, "soft")]

    # --- what stands below ---

    def _details(self, task: TaskView) -> Iterator[Line]:
        for attempt in task.attempts:
            judged = self.evidence and attempt.outcome != "none"
            if attempt.failures or attempt.decided or judged or len(task.attempts) > 1:
                yield from self._attempt(task, attempt)
        for question in task.asks:
            yield [("? ", "busy"), (one_line(question), "")]
        if task.halt is not None:
            yield [(task.halt.type, "bad"), (f": {one_line(task.halt.detail)}", "")]
        elif task.answer and self.evidence:
            yield [("answer: ", "soft"), (shortened(task.answer, _ANSWER_CHARS), "")]

    def _attempt(self, task: TaskView, attempt: AttemptView) -> Iterator[Line]:
        verdict = (attempt.verdict, _OUTCOMES.get(attempt.outcome, "busy"))
        repeats: Line = [(", exactly as ", ""), (one_line(attempt.repeats), "")] if attempt.repeats else []
        yield [(f"attempt {attempt.number} ", ""), (f"{one_line(attempt.id)}: ", "soft"), verdict, *repeats]
        for name, why in attempt.passed if self.evidence else ():
            yield [("  ✓ ", "good"), (": ".join(filter(None, (name, one_line(why)))), "")]
        for failure in attempt.failures:
            sign: tuple[str, Tone] = ("  ✗ ", "bad") if failure.severity == "blocker" else ("  ! ", "busy")
            yield [sign, (complaint(failure), "")]
            if self.evidence:
                yield from self._evidence(failure)
        if attempt.decided:
            yield [("  decided by ", "busy"), (shortened(attempt.decided, _ANSWER_CHARS), "")]

    def _evidence(self, failure: Failure) -> Iterator[Line]:
        shown = [evidence for evidence in failure.evidence if evidence.text.strip()]
        if not shown:
            yield from self._quoted(failure.justification.split("\n", 1)[1:])
        for evidence in shown:
            yield [(f"    {evidence_label(evidence)}", "soft")]
            yield from self._quoted([evidence.text])

    def _quoted(self, texts: Sequence[str]) -> Iterator[Line]:
        for text in texts:
            for line in bounded(visible(text).expandtabs().strip("\n").split("\n"), self.evidence):
                yield [(f"      {line}", "soft")]


def evidence_label(evidence: Evidence) -> str:
    """Name a piece of evidence, with its size."""
    cut = ", cut" if evidence.truncated else ""
    return f"{one_line(evidence.label) or 'evidence'} ({counted(evidence.size, 'character')}{cut})"


def _walk(task: TaskView, *, fold: bool = False, lead: str = "", turn: str = "") -> Iterator[_Row]:
    if fold and task.over and task.parent is not None:
        yield _Row(lead + turn, lead + _TURNS[turn], task, sum(1 for _ in task.walk()) - 1)
        return
    children = [child for child in task.children if not (fold and child.given_up)]
    under = lead + _TURNS[turn]
    yield _Row(lead + turn, under + ("│  " if children else "   "), task)
    for child in children:
        yield from _walk(child, fold=fold, lead=under, turn="└─ " if child is children[-1] else "├─ ")


def _room(width: int | None, wide: Sequence[int]) -> int | None:
    """Columns that are left for the tasks' own texts."""
    return None if width is None else width - sum(len(_GAP) + column for column in wide if column)


def _cut(text: str, room: int) -> str:
    """Cut a text off at a number of columns."""
    if cells(text) <= room:
        return text
    kept = text[:room]
    while cells(kept) >= room and kept:  # one is for the ellipsis
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def _columns(texts: Sequence[str], wide: Sequence[int], tone: Tone) -> Iterator[tuple[str, Tone]]:
    first, *rest = zip(texts, wide, strict=True)
    yield f"{_GAP}{first[0]:<{first[1]}}", tone
    for text, columns_wide in rest:
        if columns_wide:
            yield f"{_GAP}{text:>{columns_wide}}", "soft"
