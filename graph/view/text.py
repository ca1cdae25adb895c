"""A tree as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .safe import one_line, shortened
from .views import AttemptView, TaskView, complaint, numbers
from .words import SIGNS

__all__ = ("text_of",)

_OBJECTIVE_CHARS = 80
_TURNS = {"": "", "├─ ": "│  ", "└─ ": "   "}


def text_of(roots: Sequence[TaskView], foot: str = "") -> str:
    """Draw the tasks as lines of text."""
    lines = [line for root in roots for line in _lines(root, "", "")]
    return "\n".join([*lines, *([foot] if foot else [])])


def _lines(task: TaskView, lead: str, turn: str) -> Iterator[str]:
    yield (
        f"{lead}{turn}{SIGNS[task.status]} {one_line(task.id)} {shortened(task.objective, _OBJECTIVE_CHARS)}"
        f"  [{' · '.join(numbers(task))}]"
    )
    lead += _TURNS[turn]
    below = lead + ("│  " if task.children else "   ")
    for attempt in task.attempts:
        if attempt.failures or len(task.attempts) > 1:
            yield from (below + line for line in _attempt(attempt))
    if task.halt is not None:
        yield f"{below}{task.halt.type}: {one_line(task.halt.detail)}"
    for child in task.children:
        yield from _lines(child, lead, "└─ " if child is task.children[-1] else "├─ ")


def _attempt(attempt: AttemptView) -> Iterator[str]:
    yield f"attempt {attempt.number} {one_line(attempt.id)}: {attempt.verdict}"
    for failure in attempt.failures:
        yield f"  {'✗' if failure.severity == 'blocker' else '!'} {complaint(failure)}"
