"""A chat model that follows a script: small, thread-safe, sync and async, for every test that needs a model."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, PrivateAttr

__all__ = ("Call", "ScriptedChatModel", "tool_call")

Answer = str | AIMessage | dict[str, Any] | list[Any] | BaseModel | BaseException
"""A text, a message, data (sent as JSON), or an exception to raise."""


@dataclass(frozen=True)
class Call:
    """One call as the model saw it."""

    messages: list[BaseMessage]
    tools: list[str] = field(default_factory=list)
    schema: Any = None
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Everything it was told."""
        return "\n".join(str(message.text) for message in self.messages)


@dataclass
class _Log:
    calls: list[Call] = field(default_factory=list)
    active: int = 0
    peak: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class ScriptedChatModel(BaseChatModel):
    """Answers from a list, one entry a call, or from `function(messages) -> answer`.

        model = ScriptedChatModel(answers=["first", AIMessage("second"), TimeoutError()])
        model = ScriptedChatModel(answers=lambda messages: "yes" if "atomic" in messages[-1].text else "no")

    `calls` has what was asked, `peak` how many calls ran at once.

    Args:
        answers: The script. A list that is used up raises, or starts again with `repeat=True`.
        repeat: Whether a list starts again.
        latency: Seconds per call.
        tools: Whether `bind_tools` works; the names bound are in `call.tools`.
        structured: Whether `with_structured_output` works: the answer's text is read as JSON of the schema.
        usage: (input, output) tokens to report per call.
    """

    answers: Any
    repeat: bool = False
    latency: float = 0.0
    tools: bool = False
    structured: bool = False
    usage: tuple[int, int] | None = None

    _log: _Log = PrivateAttr(default_factory=_Log)

    @property
    def calls(self) -> list[Call]:
        return self._log.calls

    @property
    def peak(self) -> int:
        return self._log.peak

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
        with self._running(messages, kwargs) as number:
            time.sleep(self.latency)
            return self._answer(messages, number)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        with self._running(messages, kwargs) as number:
            await asyncio.sleep(self.latency)
            return self._answer(messages, number)

    @contextmanager
    def _running(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> Any:
        names = [tool["function"]["name"] for tool in kwargs.get("tools", [])]
        rest = {name: value for name, value in kwargs.items() if name not in ("tools", "scripted_schema")}
        with self._log.lock:
            self._log.calls.append(Call(list(messages), names, kwargs.get("scripted_schema"), rest))
            number = len(self._log.calls) - 1
            self._log.active += 1
            self._log.peak = max(self._log.peak, self._log.active)
        try:
            yield number
        finally:
            with self._log.lock:
                self._log.active -= 1

    def _answer(self, messages: list[BaseMessage], number: int) -> ChatResult:
        answer = self._message(self._scripted(messages, number))
        if self.usage is not None:
            asked, answered = self.usage
            counted = UsageMetadata(input_tokens=asked, output_tokens=answered, total_tokens=asked + answered)
            answer = answer.model_copy(update={"usage_metadata": counted})
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _scripted(self, messages: list[BaseMessage], number: int) -> Any:
        if callable(self.answers):
            return self.answers(messages)
        if number >= len(self.answers) and not self.repeat:
            raise AssertionError(f"the script has {len(self.answers)} answers; asked once more: {messages[-1].text}")
        return self.answers[number % len(self.answers)]

    def _message(self, answer: Answer) -> AIMessage:
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, AIMessage):
            return answer.model_copy()
        if isinstance(answer, BaseModel):
            return AIMessage(answer.model_dump_json())
        return AIMessage(answer if isinstance(answer, str) else json.dumps(answer))

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        if not self.tools:
            raise NotImplementedError
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        if not self.structured:
            raise NotImplementedError

        def read(raw: AIMessage) -> Any:
            parsed, error = None, None
            try:
                data = json.loads(str(raw.text))
                is_model = isinstance(schema, type) and issubclass(schema, BaseModel)
                parsed = schema.model_validate(data) if is_model else data  # type: ignore[union-attr]  # is_model
            except ValueError as failure:
                error = failure
            if error is not None and not include_raw:
                raise error
            return {"raw": raw, "parsed": parsed, "parsing_error": error} if include_raw else parsed

        return self.bind(scripted_schema=schema) | RunnableLambda(read)


def tool_call(name: str, /, call_id: str | None = "call_1", text: str = "", **args: Any) -> AIMessage:
    """A message that calls one tool."""
    return AIMessage(text, tool_calls=[{"name": name, "args": args, "id": call_id, "type": "tool_call"}])
