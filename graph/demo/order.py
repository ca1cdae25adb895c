"""An order as data, and the texts that carry messages from the file to the solver."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from langgraph_recursive.state.brief import SubTask
from langgraph_recursive.state.task import Task

from .files import check_messages

__all__ = ("FIELDS", "Order", "demo_task", "message_of", "messages_of", "parse_order", "split_by_message")

FIELDS = ("quantity", "item", "customer")
_INTRO = "Make a table of the orders in these messages: who orders what, and how many."
_LISTED = re.compile(r"^\d+\. (\".*\")$", re.MULTILINE)
_CHILD = "Read the order in message {number} of {count}."


@dataclass(frozen=True)
class Order:
    """One order. The fields stand in the order in which a small model finds them best."""

    quantity: int
    item: str
    customer: str

    def dump(self) -> str:
        """The order as the JSON that a solver answers with."""
        return json.dumps(asdict(self), ensure_ascii=False)


def parse_order(text: str) -> Order | None:
    """Read a solver's answer, or None when it is no order."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or set(value) != set(FIELDS):
        return None
    quantity, item, customer = (value[name] for name in FIELDS)
    if isinstance(quantity, bool) or not isinstance(quantity, int):
        return None
    if not isinstance(item, str) or not isinstance(customer, str):
        return None
    return Order(quantity, item, customer)


def demo_task(messages: Sequence[str]) -> str:
    """Write the task of the whole demo. Each message is a JSON string on a line, so that none can pose as two.

    Raises:
        InvalidInputError: There is no message, there are too many, or one is empty or too long.
    """
    check_messages(list(messages), field="messages")
    lines = [
        f"{number}. {json.dumps(message.strip(), ensure_ascii=False)}"
        for number, message in enumerate(messages, start=1)
    ]
    return "\n".join([_INTRO, *lines])


def messages_of(spec: str) -> list[str]:
    """Read the messages back from the text of a demo task; empty when it is none."""
    if not spec.startswith(_INTRO):
        return []
    return [json.loads(match[1]) for match in _LISTED.finditer(spec)]


def split_by_message(task: Task, depth: int) -> list[SubTask]:
    """The decomposer: one sub-task for each message."""
    if depth > 0:
        return []
    messages = messages_of(task.intent)
    return [
        SubTask(f"{_CHILD.format(number=number, count=len(messages))}\n\n{message}")
        for number, message in enumerate(messages, start=1)
    ]


def message_of(task: Task) -> str:
    """The message of a sub-task, from the original spec: the spec of a fix has more in it."""
    return task.intent.partition("\n\n")[2] or task.intent
