"""Prechecks: verdicts on a task before anything is spent on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.verdict import ValidationCheck, Verdict

__all__ = ("MAX_SPEC_CHARS", "meta_spec")

MAX_SPEC_CHARS = 100_000

# The sections that recovery writes. A second one is a recovery spec inside a recovery spec.
_SECTIONS = ("# Task", "# What already passed", "# What failed so far")
# Shorter text repeats in honest specs: table rows, steps, headings.
_BLOCK_CHARS = 200
_SHOWN = 80

_EVIDENCE = (re.compile(r"<evidence\b[^>]*>\Z"), re.compile(r"</evidence>\Z"))
_CODE = (re.compile(r" {0,3}```"), re.compile(r" {0,3}```[` ]*\Z"))


def meta_spec(*, max_chars: int = MAX_SPEC_CHARS) -> Callable[[Any], Verdict]:
    """Make a precheck that rejects a spec that is empty, over size, or repeats itself.

    A spec repeats itself when it holds a second recovery section, its original intent twice, the same paragraph
    of 200 characters or more twice, or when a block of lines of that size and its copies make up half of it.
    Quoted evidence does not count, nor does fenced code.

    Every spec that recovery builds from an accepted spec is accepted. So the size is that of the original intent,
    and separately that of what recovery added to it.

    Args:
        max_chars: Characters of the intent, and of what recovery adds, at most.

    Raises:
        InvalidInputError: `max_chars` is below 1.
    """
    if max_chars < 1:
        raise InvalidInputError(
            f"meta_spec max_chars = {max_chars!r}: must be at least 1", field="max_chars", value=max_chars
        )

    def meta_spec(task: Any) -> Verdict:
        # What the solver reads is `str(task)`, so a plain text is judged too.
        why = _objection(str(task), getattr(task, "root_spec", None), max_chars)
        check = ValidationCheck(
            check_id="meta_spec",
            status="failed" if why else "passed",
            justification=why,
            validator_id="meta_spec",
        )
        return Verdict(checks=[check], feedback=why)

    return meta_spec


def _objection(spec: str, root_spec: str | None, max_chars: int) -> str:
    """Say what is wrong with a spec; nothing if it is fine."""
    added = None if root_spec is None else _without_intent(spec, root_spec)
    if root_spec is None or added is None:
        return _empty_or_large(spec, max_chars, "the spec") or _repetition(spec)
    return (
        _empty_or_large(root_spec, max_chars, "the original spec")
        or _repetition(root_spec)
        or _too_large(added, max_chars, "what recovery adds to the spec")
        or _second_intent(added, root_spec)
        or _second_section(added)
    )


def _without_intent(spec: str, root_spec: str) -> str | None:
    """Take the original intent out of a spec; None if it does not stand there, in lines of its own."""
    before, found, after = f"\n{spec}\n".partition(f"\n{root_spec}\n")
    return f"{before}\n{after}".strip("\n") if found else None


def _empty_or_large(text: str, max_chars: int, what: str) -> str:
    return f"{what} is empty" if not text.strip() else _too_large(text, max_chars, what)


def _too_large(text: str, max_chars: int, what: str) -> str:
    return f"{what} has {len(text)} characters, {max_chars} are allowed" if len(text) > max_chars else ""


def _second_intent(added: str, root_spec: str) -> str:
    text = "\n".join(_outside(_EVIDENCE, added.split("\n")))
    intent = root_spec.strip()
    # A shorter one may well be quoted by what failed.
    if len(intent) >= _BLOCK_CHARS and f"\n{intent}\n" in f"\n{text}\n":
        return "the spec repeats itself: it holds the original spec more than once"
    return ""


def _repetition(text: str) -> str:
    lines = _outside(_CODE, _outside(_EVIDENCE, text.split("\n")))
    return _second_section("\n".join(lines)) or _second_paragraph(lines) or _repeated_block(lines)


def _outside(fence: tuple[re.Pattern[str], re.Pattern[str]], lines: Sequence[str]) -> list[str]:
    """Keep the lines outside of fences. A fence that is never closed is text."""
    opens, closes = fence
    kept: list[str] = []
    inside: list[str] = []
    for line in lines:
        if not inside and not opens.match(line):
            kept.append(line)
        elif inside and closes.match(line):
            inside = []
        else:
            inside.append(line)
    return kept + inside


def _second_section(text: str) -> str:
    lines = [line.rstrip() for line in _outside(_EVIDENCE, text.split("\n"))]
    for section in _SECTIONS:
        count = lines.count(section)
        if count > 1:
            return f"the spec repeats itself: it holds the section {section!r} {count} times"
    return ""


def _second_paragraph(lines: Sequence[str]) -> str:
    seen: set[str] = set()
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph += line.split()
            continue
        text = " ".join(paragraph)
        paragraph = []
        if len(text) >= _BLOCK_CHARS and text in seen:
            return f"the spec repeats itself: a paragraph occurs more than once: {_short(text)}"
        seen.add(text)
    return ""


def _repeated_block(lines: Sequence[str]) -> str:
    """Find a block of lines that makes up half of a text together with its copies: a spec wrapped in itself.

    A run of lines that all repeat the line `distance` lines before them is a copy, or several, of a block of at
    most that many lines. So equal rows are a block of one row, however many they are.
    """
    filled = [text for line in lines if (text := " ".join(line.split()))]
    total = sum(map(len, filled))
    last: dict[str, int] = {}
    distance = run = block = copied = 0
    for index, line in enumerate(filled):
        if not distance or filled[index - distance] != line:
            distance = index - last.get(line, index)
            run = block = copied = 0
        last[line] = index
        if distance:
            run += 1
            copied += len(line)
            block += len(line) if run <= distance else 0
            if block >= _BLOCK_CHARS and 2 * (block + copied) >= total:
                return f"the spec repeats itself: a block of lines occurs again, up to: {_short(line)}"
    return ""


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
