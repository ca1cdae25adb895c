"""The validators: plain functions that hold an answer against its message. They never work out the right answer.

Each failed check names the field and the refuted value as evidence, for the attempt that follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from langgraph_recursive.nodes.components import inline
from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.evidence import Evidence, bounded
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import ValidationCheck, Verdict, accept, reject

from .order import Order, message_of, messages_of, parse_order
from .table import rows_of
from .words import FILLERS, MONTHS, WEEKDAYS, Number, numbers, places

__all__ = ("CHECKS", "check_customer", "check_item", "check_quantity", "check_table")

_DATE_WORD = re.compile(rf"(?:{MONTHS}|{WEEKDAYS}|[ap]m|o['\u2019]?clock)", re.IGNORECASE)
_IN_NAMES = frozenset(("the", "of", "and"))
_NO_THING = frozenset(
    [
        "street",
        "road",
        "lane",
        "avenue",
        "drive",
        "square",
        "flat",
        "room",
        "house",
        "apartment",
        "floor",
        "phone",
        "number",
        "mobile",
        "telephone",
        "dollar",
        "dollars",
        "euro",
        "euros",
        "pound",
        "pounds",
        "cent",
        "cents",
        "order",
        "invoice",
        "ticket",
        "address",
        "customer",
        "delivery",
        "regards",
    ]
)
_TITLES = frozenset(["mr", "mrs", "ms", "miss", "dr", "prof", "sir", "madam", "captain"])
_GREETED = re.compile(
    r"\b(?:hi|hello|hey|dear|good (?:morning|day|evening|afternoon))\s+(?:the\s+)?(?:(?:mr|mrs|ms|dr)\.?\s+)?$",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\s*(?:x|of|more|extra|new|pieces of|pcs of?|[)\]-])?\s*", re.IGNORECASE)
_NUMBER_WORD = re.compile(
    r"(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|\w+ty|dozen|hundred)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Fault:
    """What is wrong with one field.

    Attributes:
        text: In words.
        words: Words that have no place in this field at all, whatever else it holds.
        refutes: Whether the value is wrong; else nobody can tell from this message.
    """

    text: str
    words: AbstractSet[str] = frozenset()
    refutes: bool = True


Faults = Callable[[Order, str], Iterator[Fault]]


@inline
def check_item(task: Task, result: Answer) -> Verdict:
    """The item stands in the message, whole, and is no name, number, date, address or thing taken back."""
    return _verdict(task, result, "item", _item_faults)


@inline
def check_customer(task: Task, result: Answer) -> Verdict:
    """The customer stands in the message, whole, and is not who is greeted, nor a date or an address."""
    return _verdict(task, result, "customer", _customer_faults)


@inline
def check_quantity(task: Task, result: Answer) -> Verdict:
    """The quantity stands in the message, is not taken back, and is no date, time, price, phone or house number."""
    return _verdict(task, result, "quantity", _quantity_faults)


@inline
def check_table(task: Task, result: Answer) -> Verdict:
    """Every row is of a message of the file, no message has two, and every name is in its message."""
    if task.depth > 0:
        return Verdict(checks=[ValidationCheck(check_id="table", status="passed")])
    messages = messages_of(task.intent)
    rows = rows_of(result.report)
    fault = None
    if len({row.number for row in rows}) < len(rows):
        fault = "a message has more than one row"
    for row in rows:
        if not 1 <= row.number <= len(messages):
            fault = f"row {row.number} is of no message"
        elif not all(places(messages[row.number - 1], text) for text in (row.order.item, row.order.customer)):
            fault = f"row {row.number} holds what its message does not say"
    return reject(fault, check_id="table") if fault else accept("every row is of its message")


CHECKS = (check_item, check_customer, check_quantity, check_table)


def _verdict(task: Task, result: Answer, field: str, faults: Faults) -> Verdict:
    if task.depth == 0:  # the table has its own check
        return Verdict(checks=[ValidationCheck(check_id=field, status="passed")])
    order = parse_order(str(result))
    if order is None:
        found = [Fault("the answer is not an order with quantity, item and customer")]
    else:
        found = list(faults(order, message_of(task)))
    told = "; ".join(fault.text for fault in found)
    check = ValidationCheck(
        check_id=field,
        status="failed" if found else "passed",
        justification=told,
        evidence=_evidence(field, order, found) if found and order else [],
    )
    return Verdict(checks=[check], feedback=told)


def _evidence(field: str, order: Order, faults: list[Fault]) -> list[Evidence]:
    words = sorted(set().union(*(fault.words for fault in faults)))
    values = [bounded(str(getattr(order, field)), label=field)] if any(fault.refutes for fault in faults) else []
    return [*values, *(bounded(word, label=f"{field} without") for word in words)]


def _item_faults(order: Order, message: str) -> Iterator[Fault]:
    item, parts = order.item, _parts(order.item)
    found = places(message, item)
    name = set(parts) & set(_parts(order.customer))
    strange = {part for part in parts if part in FILLERS or _DATE_WORD.fullmatch(part)}
    if not found or not parts:
        yield Fault(f"item {item!r} does not stand in the message")
    if re.search(r"\d", item) or any(_NUMBER_WORD.fullmatch(part) for part in parts[:1]):
        yield Fault(f"item {item!r} holds a number")
    if name:
        yield Fault(f"item {item!r} is the customer, or part of the name")
    if strange:
        yield Fault(f"item {item!r} holds words that are not part of the thing", strange)
    if parts and parts[-1] in _NO_THING:
        yield Fault(f"item {item!r} is no thing that can be ordered", {parts[-1]})
    whole = [place for place in found if _stands_alone(message, *place)]
    if found and not whole:
        yield Fault(f"item {item!r} is only part of a longer name of a thing")
    if whole and all(_is_name(message, *place) for place in whole):
        yield Fault(f"item {item!r} is written like a name", set(parts))
    counted = [number for place in whole for number in _counting(message, place[0])]
    if counted and all(number.cancelled for number in counted):
        yield Fault(f"item {item!r} is taken back in the message")


def _customer_faults(order: Order, message: str) -> Iterator[Fault]:
    customer, parts = order.customer, _parts(order.customer)
    found = places(message, customer)
    strange = {part for part in parts if part in FILLERS and part not in _IN_NAMES}
    if not found or not parts:
        yield Fault(f"customer {customer!r} does not stand in the message")
    if re.search(r"\d", customer):
        yield Fault(f"customer {customer!r} holds a number")
    if strange:
        yield Fault(f"customer {customer!r} holds words that are not part of a name", strange)
    if parts and (parts[-1] in _NO_THING | _TITLES or any(_DATE_WORD.fullmatch(part) for part in parts)):
        yield Fault(f"customer {customer!r} is a date, an address or a title, not a name")
    if set(parts) & set(_parts(order.item)):
        yield Fault(f"customer {customer!r} is the item, or part of it")
    if found and all(_GREETED.search(message[:start]) for start, _ in found):
        yield Fault(f"customer {customer!r} is who the message is written to", set(parts))
    if found and not any(_is_whole_name(message, *place) for place in found):
        yield Fault(f"customer {customer!r} is only part of a name")
    if found and not any(message[start].isupper() for start, _ in found) and _has_names(message):
        yield Fault(f"customer {customer!r} is not written like a name, unlike others in the message", set(parts))


def _quantity_faults(order: Order, message: str) -> Iterator[Fault]:
    quantity = order.quantity
    found = [number for number in numbers(message) if number.value == quantity]
    roles = [number.role for number in found if number.role]
    if not found:
        yield Fault(f"quantity {quantity} does not stand in the message")
    elif len(roles) == len(found):
        yield Fault(f"quantity {quantity} is {roles[0]}")
    elif not any(number.counts for number in found):
        yield Fault(f"quantity {quantity} is taken back in the message")
    counted = [
        number for place in places(message, order.item) for number in _counting(message, place[0]) if number.counts
    ]
    if counted and quantity not in {number.value for number in counted}:
        yield Fault(f"quantity {quantity} does not stand with item {order.item!r}, another number does")
    others = [number for number in numbers(message) if number.counts and number.value != quantity]
    if any(_counts_a_thing(message, number) for number in others):
        yield Fault(f"quantity {quantity} is not the only number of things in the message", refutes=False)


def _counts_a_thing(message: str, number: Number) -> bool:
    behind = _NEXT.match(message[number.end :][:60])
    return behind is not None and not _is_edge(behind[1])


def _parts(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['\u2019-][^\W_]+)*", text.casefold())


def _counting(message: str, start: int) -> Iterator[Number]:
    """The numbers right before a place: `4 lamps`, `4 of the lamps`."""
    for number in numbers(message):
        if number.end <= start and _COUNTED.fullmatch(message, number.end, start):
            yield number


_PREVIOUS = re.compile(r"([^\W_]+(?:['\u2019-][^\W_]+)*)[ \t]+$")
_NEXT = re.compile(r"[ \t]+([^\W_]+(?:['\u2019-][^\W_]+)*)")


def _neighbours(message: str, start: int, end: int) -> tuple[str, str]:
    """The words right before and behind a place; empty where punctuation or an end of the message is."""
    before, behind = _PREVIOUS.search(message[:start][-60:]), _NEXT.match(message[end:][:60])
    return before[1] if before else "", behind[1] if behind else ""


def _is_edge(word: str) -> bool:
    folded = word.casefold()
    return (
        not word
        or folded in FILLERS
        or folded in _NO_THING
        or word[0].isdigit()
        or bool(_NUMBER_WORD.fullmatch(word) or _DATE_WORD.fullmatch(word))
    )


def _stands_alone(message: str, start: int, end: int) -> bool:
    """Whether a thing is not cut out of a longer phrase: beside it stand only edges, or a name behind it."""
    before, behind = _neighbours(message, start, end)
    if message[end : end + 1] in ("-", "'") or message[start - 1 : start] == "-":
        return message[end : end + 1] != "-" and message[max(0, start - 2) : start] == " -"
    # Somebody's name before a verb that is not listed cannot be told from an adjective, so that side is strict.
    return _is_edge(before) and behind != "of" and (_is_edge(behind) or behind[0].isupper())


def _sentence_start(message: str, start: int) -> bool:
    return re.search(r"(?:^|[.!?\n:])\W*$", message[:start]) is not None


def _is_name(message: str, start: int, end: int) -> bool:
    text = message[start:end]
    first = _sentence_start(message, start)
    capitals = [word[:1].isupper() for word in text.split()]
    return all(capitals) and not message.isupper() and (not first or len(capitals) > 1)


def _is_whole_name(message: str, start: int, end: int) -> bool:
    before, behind = _neighbours(message, start, end)
    if not message[start].isupper():
        return _is_edge(before) and _is_edge(behind)
    cut_before = before[:1].isupper() and not _is_edge(before) and before.casefold() not in _TITLES
    cut_behind = behind[:1].isupper() and not _is_edge(behind)
    return not cut_before and not cut_behind


def _has_names(message: str) -> bool:
    """Whether somewhere inside a sentence a word is written like a name."""
    return any(
        not _sentence_start(message, match.start()) and not _is_edge(match[0])
        for match in re.finditer(r"\b[A-Z][a-z]+", message)
    )
