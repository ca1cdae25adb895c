"""Reading a short message without understanding it: words, numbers, and what a number is plainly not a count of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

__all__ = ("FILLERS", "Number", "Word", "numbers", "places", "spans", "words")

_UNITS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip  # a table
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip  # likewise
_SMALL = "|".join(_UNITS)
_NUMBER_WORDS = rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{_SMALL}))?|{_SMALL})"
_NUMBER = re.compile(
    r"(?P<digits>(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,])|\d+)"
    rf"|\b(?P<half>half a dozen)\b|\b(?:(?P<many>{_NUMBER_WORDS}|a)\s)?(?P<pack>dozen|hundred)\b"
    rf"|\b(?P<words>{_NUMBER_WORDS})\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\b(?:an?|single)\b", re.IGNORECASE)
_PACKS = {"dozen": 12, "hundred": 100}
_LONGEST = 9

_WORD = re.compile(r"(?<!\w)[^\W\d_]+(?:['\u2019-][^\W\d_]+)*(?!\w)")

MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
WEEKDAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_STREETS = r"(?:Street|Road|Lane|Avenue|Drive|Square|Close|Way|Court|Boulevard|St|Rd|Ave)"

# What a number is, from the text right before it or right behind it. None of these is a count of things.
_BEFORE = {
    "part of a date": rf"\b(?:{MONTHS}|{WEEKDAYS})\.?,?\s*$|\d[./-]$",
    "a price": r"[$\u20ac\u00a3]\s*$",
    "a time or a price": r"\b(?:at|by|until|till)\s*$|\d:$",
    "part of a phone number": r"\b(?:phone|mobile|telephone|tel|call|dial)\b[^.!?\d]{0,20}$|\d[ -]$|\+$",
    "part of an address": r"\b(?:room|flat|apartment|suite|floor|unit|house|box|building)\s*$",
    "a reference number": r"#\s*$|\b(?:ticket|invoice|number|no\.?|ref\.?|reference)\s*:?\s*$"
    r"|\b(?:my|our|your|the|this|last|about|re|of)\s+(?:\w+\s+)?order\s*:?\s*$",
}
_BEHIND = {
    "part of a date": rf"^(?:st|nd|rd|th)\b|^\s+(?:of\s+)?{MONTHS}\b|^[./-]\d",
    "a time": r"^:\d|^\s*(?:o['\u2019 ]?clock|[ap]\.?m\b)",
    "a price": r"^\s*(?:[$\u20ac\u00a3]|(?:dollars?|euros?|pounds?|cents?|usd|eur|gbp|bucks)\b)",
    "part of a phone number": r"^[ -]\d",
    # A street's name is told from a thing by its capital letters.
    "part of an address": rf"^(?-i:(?:\s+[A-Z]\w+){{1,3}}?\s+{_STREETS})\b",
    "a span of time or a number of people": r"^\s+(?:minutes?|hours?|days?|weeks?|months?|years?"
    r"|people|persons|guests)\b",
}
_TAKEN_BACK = re.compile(
    r"\b(?:not|instead of|rather than|no longer|cancel|forget|scrap|drop|skip|remove|without|(?:do not|don['\u2019]?t))"
    r"\b(?:\s+\w+){0,3}\s*$|\b(?:was|were|from)\s+$",
    re.IGNORECASE,
)
_CORRECTED = re.compile(r"\b(?:but|now|meant|make (?:it|that)|sorry|wait|correction|oops)\b(?!\s+also)", re.IGNORECASE)
_CLAUSE = re.compile(r"[.,;:!?\n]")
_SENTENCE = re.compile(r"[.!?\n]")

FILLERS = frozenset((resources.files(__package__) / "fillers.txt").read_text(encoding="utf-8").split())
"""Words that are neither a thing nor a name, so that either may stand beside them."""


@dataclass(frozen=True)
class Word:
    """A word and where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Number:
    """A number in a message.

    Attributes:
        value: Its value.
        start: Where it starts.
        end: Where it ends.
        role: What it is, when that is plainly no count of things: `part of a date`.
        cancelled: Whether the message takes it back: `not 5 but 3`.
    """

    value: int
    start: int
    end: int
    role: str | None = None
    cancelled: bool = False

    @property
    def counts(self) -> bool:
        """Whether it may be the quantity of an order."""
        return self.role is None and not self.cancelled and self.value > 0


@lru_cache(maxsize=64)
def words(message: str) -> tuple[Word, ...]:
    """The words of a message."""
    return tuple(Word(match[0], match.start(), match.end()) for match in _WORD.finditer(message))


@lru_cache(maxsize=64)
def numbers(message: str) -> tuple[Number, ...]:
    """The numbers of a message, as digits or in words. Only where there are none does `a` count as one."""
    found = [
        Number(value, match.start(), match.end(), role=_role(message, match))
        for match in _NUMBER.finditer(message)
        if (value := _value(match)) is not None
    ]
    if not found:
        found = [Number(1, match.start(), match.end()) for match in _ARTICLE.finditer(message)]
    return tuple(_judged(message, found))


def _value(match: re.Match[str]) -> int | None:
    if digits := match["digits"]:
        return int(digits.replace(",", "")) if len(digits) <= _LONGEST else None
    if match["half"]:
        return 6
    if pack := match["pack"]:
        return _PACKS[pack.lower()] * _spoken(match["many"] or "a")
    return _spoken(match["words"])


def _spoken(text: str) -> int:
    parts = re.split(r"[- ]", text.lower())
    return 1 if parts == ["a"] else sum(_UNITS.get(part, 0) + _TENS.get(part, 0) for part in parts)


def _role(message: str, match: re.Match[str]) -> str | None:
    before, behind = message[max(0, match.start() - 40) : match.start()], message[match.end() :][:60]
    if match["digits"] and len(match[0]) > 1 and match[0].startswith("0"):
        return "part of a phone number"
    for role, pattern in _BEFORE.items():
        if re.search(pattern, before, re.IGNORECASE):
            return role
    for role, pattern in _BEHIND.items():
        if re.search(pattern, behind, re.IGNORECASE):
            return role
    return None


def _judged(message: str, found: list[Number]) -> Iterator[Number]:
    for index, number in enumerate(found):
        since = found[index - 1].end if index else 0
        following = next((later for later in found[index + 1 :] if later.role is None), None)
        before = _CLAUSE.split(message[since : number.start])[-1]
        between = message[number.end : following.start] if following else ""
        corrected = following is not None and not _SENTENCE.search(between) and _CORRECTED.search(between)
        taken_back = _TAKEN_BACK.search(before)
        yield Number(number.value, number.start, number.end, number.role, cancelled=bool(corrected or taken_back))


def places(message: str, text: str) -> list[tuple[int, int]]:
    """Where a text stands in a message as whole words, whatever its case and spacing."""
    pattern = r"\s+".join(re.escape(part) for part in text.split())
    if not pattern:
        return []
    return [match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", message, re.IGNORECASE)]


@lru_cache(maxsize=64)
def spans(message: str, longest: int = 3) -> tuple[str, ...]:
    """Every run of words of a message that no punctuation and no digit interrupts.

    Args:
        message: The message.
        longest: The most words of a run.
    """
    all_words = words(message)
    found: dict[str, None] = {}
    for first, word in enumerate(all_words):
        for last in all_words[first : first + longest]:
            text = message[word.start : last.end]
            if re.search(r"[^\w\s'\u2019-]|\d", text):
                break
            found[" ".join(text.split())] = None
    return tuple(found)
