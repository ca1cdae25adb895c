"""The same words and numbers wherever a task is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from .safe import one_line

__all__ = ("ENDED", "SIGNS", "WORDS", "Status", "Tone", "bounded", "check_name", "clock", "counted", "spent", "tone_of")

Status = Literal[
    "waiting",
    "working",
    "split",
    "combining",
    "checking",
    "repairing",
    "asking",
    "checked",
    "unchecked",
    "halted",
    "stopped",
]

ENDED: frozenset[Status] = frozenset({"checked", "unchecked", "halted", "stopped"})

SIGNS: dict[Status, str] = {
    "waiting": "·",
    "working": "◌",
    "split": "┬",
    "combining": "◌",
    "checking": "◌",
    "repairing": "↻",
    "asking": "?",
    "checked": "✓",
    "unchecked": "✓",
    "halted": "✗",
    "stopped": "⊘",
}

WORDS: dict[Status, str] = {"waiting": "not started", "unchecked": "not checked", "asking": "asks a person"}

Tone = Literal["", "bold", "soft", "good", "bad", "busy", "idle"]
"""What a piece of a picture means; each kind of picture has its own colours for it."""

_LIMITS = {
    "max_llm_calls": "model calls",
    "max_tokens": "tokens",
    "max_cost": "cost",
    "max_seconds": "seconds",
    "max_tasks": "tasks",
}
_BAR = 10


def tone_of(status: Status) -> Tone:
    """How a status is coloured."""
    if status in ("checked", "halted"):
        return "good" if status == "checked" else "bad"
    return "idle" if status in ("waiting", "stopped", "unchecked") else "busy"


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


def spent(budget: Mapping[str, Sequence[float]]) -> list[str]:
    """Write what a run has spent of its limits.

    Example:
        >>> spent({"max_llm_calls": [34, 200]})
        ['▰▰▱▱▱▱▱▱▱▱ 34/200 model calls']
    """
    return [
        f"{_bar(used / limit if limit else 1)} {used:,.6g}/{limit:,.6g} {_LIMITS.get(name, one_line(name))}"
        for name, (used, limit) in budget.items()
    ]


def _bar(share: float) -> str:
    full = min(_BAR, round(share * _BAR))
    return "▰" * full + "▱" * (_BAR - full)


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
