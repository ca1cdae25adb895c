"""The same words and numbers wherever a task is shown."""

from __future__ import annotations

from .rows import Status
from .safe import one_line

__all__ = ("SIGNS", "WORDS", "bounded", "check_name", "clock", "counted")

SIGNS: dict[Status, str] = {
    "waiting": "·",
    "working": "◌",
    "split": "┬",
    "combining": "◌",
    "checking": "◌",
    "repairing": "↻",
    "checked": "✓",
    "unchecked": "✓",
    "halted": "✗",
    "stopped": "⊘",
}

WORDS: dict[Status, str] = {"unchecked": "not checked"}


def counted(number: int, word: str, plural: str = "") -> str:
    """Name a number of things.

    Example:
        >>> counted(1, "fix", "fixes"), counted(1200, "call")
        ('1 fix', '1,200 calls')
    """
    return f"{number:,} {word if number == 1 else plural or f'{word}s'}"


def clock(seconds: float | None) -> str:
    """Write a duration; nothing when it is unknown.

    Example:
        >>> clock(1.25), clock(75), clock(None)
        ('1.2s', '1:15', '')
    """
    if seconds is None:
        return ""
    seconds = max(0.0, seconds)
    return f"{seconds:.1f}s" if seconds < 60 else f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def check_name(validator: str, check: str) -> str:
    """Name a check: by its validator alone where that says it all."""
    return one_line(validator if check in ("", validator, "answer") else f"{validator} / {check}")


def bounded(lines: list[str], limit: int) -> list[str]:
    """Keep the first and the last lines, and say how many are between."""
    if len(lines) <= limit:
        return lines
    tail = limit * 3 // 4
    head = limit - tail
    return [*lines[:head], f"… {len(lines) - limit} lines …", *lines[-tail:]]
