"""The meter: counts the model calls made inside one component call, and asks the ledger before each."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook

from langgraph_recursive.state.usage import Usage

from .ledger import Ledger
from .prices import Price
from .run import TaskStopped

__all__ = ("Meter", "calls_no_model", "metering")

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")


def calls_no_model(function: _Function) -> _Function:
    """Mark a function that never calls a model, so that its calls do not count against `Budget.max_llm_calls`."""
    function.calls_no_model = True  # type: ignore[attr-defined]  # a mark on the function itself
    return function


class Meter(BaseCallbackHandler):
    """Counts one component call.

    LangChain calls it before and after each model call, also for models that a plain function calls. The first model
    call is covered by what was reserved when the component call started.

    Args:
        ledger: The run's ledger.
        run: Number of the run.
        price: What a model call costs; None does not count cost.
        calls_model: Whether the component may call a model. Tools and commands do not.
        drawn_by: The task whose own reserve is drawn on.
        said: Gets each message that a model gives.
    """

    raise_error = True
    run_inline = True

    def __init__(
        self,
        ledger: Ledger,
        run: int,
        price: Price | None,
        *,
        calls_model: bool,
        drawn_by: str | None = None,
        said: Callable[[AIMessage], None] | None = None,
    ) -> None:
        self.ledger = ledger
        self.run = run
        self.price = price
        self.drawn_by = drawn_by
        self.calls_model = calls_model
        self.said = said
        self.asked: dict[UUID, str] = {}
        self.reserved = Usage()
        self.spent = Usage()

    def open(self) -> None:
        """Reserve the call.

        Raises:
            TaskStopped: The budget does not allow it.
        """
        if self.calls_model:
            self._reserve(Usage(llm_calls=1))
        self.spent = Usage(calls=1)

    def close(self) -> Usage:
        """Settle the call and return what it spent; nothing, if it was refused."""
        unseen = self.calls_model and self.spent.calls and not self.spent.model_calls
        actual = self.spent + Usage(llm_calls=1 if unseen else self.spent.model_calls)
        self.ledger.settle(self.run, self.reserved, actual)
        return actual

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        """Reserve a model call."""
        self._started(**kwargs)

    def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
        """Reserve a model call."""
        self._started(**kwargs)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Count tokens and cost, and note what was said.

        Raises:
            TaskStopped: Cost is limited and the model has no price: what it costs would never count.
        """
        for generations in response.generations:
            for generation in generations:
                message = getattr(generation, "message", None)
                if isinstance(message, AIMessage):
                    self._used(message, self.asked.get(run_id, ""))
                    if self.said is not None:
                        self.said(message)

    def _started(
        self,
        *,
        run_id: UUID,
        invocation_params: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        parameters = invocation_params or {}
        tokens = next((parameters[name] for name in _LIMITS if isinstance(parameters.get(name), int)), 0)
        more = 1 if self.spent.model_calls or not self.calls_model else 0
        self._reserve(Usage(llm_calls=more, output_tokens=tokens))
        self.asked[run_id] = str((metadata or {}).get("ls_model_name") or "")
        self.spent += Usage(model_calls=1)

    def _used(self, message: AIMessage, asked: str) -> None:
        usage = message.usage_metadata
        if not usage or usage.get("total_cost") == 0:  # LangChain marks a cached answer so: nothing was spent
            return
        self.spent += Usage(input_tokens=usage["input_tokens"], output_tokens=usage["output_tokens"])
        name = str(message.response_metadata.get("model_name") or asked)
        self.spent += Usage(cost=self._cost(name, usage))

    def _cost(self, model: str, usage: UsageMetadata) -> float:
        if self.price is None:
            return 0.0
        limit = self.ledger.budget.max_cost
        try:
            return self.price(model, usage)
        except LookupError as error:
            if limit is None:
                raise
            detail = (
                f"max_cost = {limit:g} cannot hold: there is no price for the model {model!r}; give it one with "
                "SolvePolicy(price=lambda model, usage: ...), or leave max_cost out"
            )
            raise TaskStopped("budget_exhausted", detail) from error

    def _reserve(self, wanted: Usage) -> None:
        if reason := self.ledger.reserve(self.run, wanted, drawn_by=self.drawn_by):
            raise TaskStopped("budget_exhausted", reason)
        self.reserved += wanted


_meter: contextvars.ContextVar[Meter | None] = contextvars.ContextVar("langgraph_recursive_meter", default=None)
register_configure_hook(_meter, inheritable=True)
metering = _meter
"""The meter of the component call under way; LangChain adds it to the callbacks of every run it configures."""
