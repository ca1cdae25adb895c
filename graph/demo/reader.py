"""The solver: a model reads one message under a JSON schema; what was refuted is no longer offered to it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from importlib import resources
from typing import Any

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langgraph_recursive.state.errors import UnparsableOutputError
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.task import Task

from .order import FIELDS, Order, message_of
from .words import numbers, spans

__all__ = ("OrderReader", "order_schema", "refuted_values")

_SYSTEM = "Read the order message. Write who orders, what, and how many, in the words of the message."
_WITHOUT = " without"
_LARGEST = 99_999


class OrderReader:
    """Reads the order in one message.

    Args:
        model: A chat model with structured output.
        constrained: Whether texts must be words of the message and the quantity one of its numbers. Without it the
            schema only says which fields are texts and which is a number.
    """

    name = "order_reader"

    def __init__(self, model: BaseChatModel, *, constrained: bool = True) -> None:
        self.model = model
        self.constrained = constrained
        self.examples = _examples()

    def __call__(self, task: Task) -> str:
        """Ask the model; a retry is told what was wrong, and is not offered the refuted values again."""
        message = message_of(task)
        refuted = refuted_values(task.prior_failures)
        schema = order_schema(message, refuted) if self.constrained else order_schema(None, {})
        structured = self.model.with_structured_output(schema)
        try:
            answer: Any = structured.invoke(self._prompt(message, refuted))
        except OutputParserException as error:
            raise UnparsableOutputError(str(error), field="solver", value=error.llm_output) from error
        # Compact: a trace shows the first 80 characters.
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":"), default=str)

    def _prompt(self, message: str, refuted: dict[str, set[str]]) -> list[BaseMessage]:
        prompt: list[BaseMessage] = [SystemMessage(_SYSTEM)]
        for text, order in self.examples:
            prompt += [HumanMessage(text), AIMessage(order.dump())]
        return [*prompt, HumanMessage(message + _evidence(refuted))]


def _examples() -> list[tuple[str, Order]]:
    """What the model is shown first: answered messages, as a chat. A model this small follows examples, not rules."""
    text = (resources.files(__package__) / "examples.json").read_text(encoding="utf-8")
    return [
        (entry["message"], Order(entry["quantity"], entry["item"], entry["customer"])) for entry in json.loads(text)
    ]


def refuted_values(failures: Sequence[Failure]) -> dict[str, set[str]]:
    """Collect what the checks have refuted. The evidence names the field and the value.

    Returns:
        For each field its refuted values, and under `item without` the words that no item may hold.
    """
    refuted: dict[str, set[str]] = defaultdict(set)
    for failure in failures:
        for evidence in failure.evidence:
            if evidence.label.removesuffix(_WITHOUT) in FIELDS:
                refuted[evidence.label].add(evidence.text)
    return dict(refuted)


def _evidence(refuted: dict[str, set[str]]) -> str:
    lines = [f"{field} is not {' or '.join(sorted(refuted[field]))}" for field in FIELDS if field in refuted]
    return f"\n({'; '.join(lines)})" if lines else ""


def order_schema(message: str | None, refuted: dict[str, set[str]]) -> dict[str, Any]:
    """The JSON schema of an order.

    Args:
        message: Offer only its own words and numbers; None offers any.
        refuted: Values that are not offered again, for each field.
    """
    text: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 40}
    number: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": _LARGEST}
    properties = {"quantity": number, "item": text, "customer": text}
    if message is not None:
        counts = [str(found.value) for found in numbers(message) if 0 < found.value <= _LARGEST]
        for field, offered in (("quantity", counts), ("item", spans(message)), ("customer", spans(message))):
            left = _left(offered, refuted.get(field, set()), refuted.get(field + _WITHOUT, set()))
            if left:
                properties[field] = {"enum": [int(value) for value in left] if field == "quantity" else left}
    return {
        "title": "order",
        "description": "One order: who orders, what, and how many.",
        "type": "object",
        "properties": {field: properties[field] for field in FIELDS},
        "required": list(FIELDS),
        "additionalProperties": False,
    }


def _left(offered: Sequence[str], values: set[str], words: set[str]) -> list[str]:
    """What is left to choose from: neither a refuted value, nor one with a refuted word in it."""
    folded = {value.casefold() for value in values}
    return [
        value
        for value in dict.fromkeys(offered)
        if value.casefold() not in folded and words.isdisjoint(value.casefold().split())
    ]
