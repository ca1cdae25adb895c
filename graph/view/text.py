"""A tree as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from .rows import Layout, plain
from .views import TaskView

__all__ = ("text_of",)


def text_of(roots: Sequence[TaskView], foot: str = "") -> str:
    """Draw the tasks as lines of text."""
    return "\n".join([*map(plain, Layout().lines(roots)), *([foot] if foot else [])])
