"""What the demo's tests share: the shipped messages with their orders, and a model that follows a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda

Order = tuple[int, str, str]

# The orders of graph/demo/messages.txt; the tenth has no quantity.
ORDERS: list[Order | None] = [
    (3, "reading lamps", "Maria Lopez"),
    (24, "paper plates", "Lakeside Bakery"),
    (8, "bar stools", "Henry Cobb"),
    (2, "rocking chairs", "Agnes Pike"),
    (12, "tulips", "Sarah Quinn"),
    (15, "shovels", "Bill Harmon"),
    (2, "sleeping bags", "Amy Dawson"),
    (4, "cook books", "Clare Benton"),
    (9, "hamers", "Gary Finn"),
    None,
    (10, "yoga mats", "Frida Holt"),
    (6, "flags", "Ralph Storm"),
    (7, "dinner plates", "Kevin Yao"),
    (1, "carpet", "Dennis Grove"),
    (16, "marbles", "Mark Eden"),
    (20, "bagels", "Nancy Webber"),
    (5, "bird houses", "Stella Crow"),
    (11, "fishing rods", "Pablo Ortega"),
    (40, "chalks", "Hillview School"),
    (18, "wine corks", "Theo Lambert"),
    (2, "toasters", "Edith Pope"),
    (1, "grand piano", "Oliver Nash"),
    (50, "lanterns", "Ruby Shaw"),
    (6, "water guns", "Finn Maddox"),
]


class ScriptedModel(BaseChatModel):
    """A chat model that answers with what its script makes of the last message and of the schema."""

    script: Callable[[str, Mapping[str, Any]], Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = self.script(messages[-1].text, kwargs["schema"])
        return ChatResult(generations=[ChatGeneration(message=AIMessage(json.dumps(answer)))])

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[Any, Any]:
        read: Runnable[Any, Any] = RunnableLambda(lambda message: json.loads(message.text))
        return self.bind(schema=schema) | read


@pytest.fixture
def orders() -> list[Order | None]:
    return ORDERS


@pytest.fixture
def scripted() -> Callable[[Callable[[str, Mapping[str, Any]], Any]], ScriptedModel]:
    return lambda script: ScriptedModel(script=script)
