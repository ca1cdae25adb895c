"""Reading plain text answers of models, as the recursive-solver document asks."""

from __future__ import annotations

import re

__all__ = ("bullets", "judgement", "says_yes")

_BULLET = re.compile(r"(\s*)[-*] (.*)")
# Markdown around the word is let pass. Quotes are not: `"ACCEPT" would be wrong` quotes the word.
_DECISION = re.compile(r"[\s*#]*(ACCEPT|REJECT)(?=[\s:.,;!\u2014\u2013*]|- |$)(?!\*+\w)(.*)", re.DOTALL)
# `ACCEPT or REJECT` and the like repeat the question.
_BOTH = re.compile(r"[\W_]*(?:or\b|and\b)?[\W_]*(?:ACCEPT|REJECT)\b", re.IGNORECASE)
_LEAD = " \t\r\n:.,;!*_-\u2014\u2013"


def says_yes(text: str) -> bool:
    """Whether an answer starts with "yes", in any case."""
    return text.strip().lower().startswith("yes")


def bullets(text: str) -> list[str]:
    """The entries of a bulleted list: lines that start with `- ` or `* `, without the mark, empty ones dropped.

    A list may be indented as a whole. Lines indented further are details of their entry, not entries.
    """
    found = [match for line in text.splitlines() if (match := _BULLET.fullmatch(line.expandtabs(4)))]
    margin = min((len(match.group(1)) for match in found), default=0)
    entries = (match.group(2).strip() for match in found if len(match.group(1)) < margin + 2)
    return [entry for entry in entries if entry]


def judgement(text: str) -> tuple[bool | None, str]:
    """Read an ACCEPT or REJECT answer: the decision, None if there is none, and the feedback behind it.

    Only the first word counts, as a whole and in capitals (rules.md 21): "I cannot ACCEPT" and "ACCEPTING this would
    be wrong" accept nothing, nor does "ACCEPT or REJECT?". Marks around the word (`**ACCEPT**:`) are let pass.
    """
    match = _DECISION.match(text)
    if match is None or _BOTH.match(match.group(2)):
        return None, text.strip()
    return match.group(1) == "ACCEPT", match.group(2).lstrip(_LEAD).strip()
