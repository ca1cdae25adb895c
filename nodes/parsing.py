"""Reading plain text answers of models, as the recursive-solver document asks."""

from __future__ import annotations

import re

__all__ = ("bullets", "judgement", "says_yes")

_WORD = re.compile(r"\W*(\w+)(.*)", re.DOTALL)


def says_yes(text: str) -> bool:
    """Whether an answer starts with "yes", in any case."""
    return text.strip().lower().startswith("yes")


def bullets(text: str) -> list[str]:
    """The entries of a bulleted list: lines that start with `- ` or `* `, without the mark, empty ones dropped."""
    marked = (line.strip() for line in text.splitlines())
    return [entry for line in marked if line.startswith(("- ", "* ")) and (entry := line[2:].strip())]


def judgement(text: str) -> tuple[bool | None, str]:
    """Read an ACCEPT or REJECT answer: the decision, and the feedback behind it.

    Only the first word counts, as a whole (rules.md 21): "I cannot ACCEPT" and "ACCEPTING this would be wrong" accept
    nothing. Marks around it (`**ACCEPT**:`) are let pass; the case is not (a judge is told to write capitals).
    """
    match = _WORD.match(text)
    if match is None or match.group(1) not in ("ACCEPT", "REJECT"):
        return None, text.strip()
    return match.group(1) == "ACCEPT", match.group(2).lstrip(" \t\r\n:.,;*_-—–").strip()
