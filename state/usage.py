"""Usage: what a task or a whole run has spent."""

from __future__ import annotations

from collections.abc import Callable

from ._model import Data

__all__ = ("Usage",)


class Usage(Data):
    """Counts that only grow.

    Attributes:
        calls: Component calls: solver, decomposer, verifier and so on, a model's or a function's.
        model_calls: Calls of a chat model or LLM, as LangChain's callbacks reported them.
        llm_calls: What counts against `Budget.max_llm_calls`: model calls, and one for each call of a part in which
            LangChain saw none.
        input_tokens: Tokens read, as far as the provider reports them.
        output_tokens: Tokens written, likewise.
        cost: Cost, as far as there are prices.
        tasks: Tasks started.
        fixes: Fix attempts made.
    """

    calls: int = 0
    model_calls: int = 0
    llm_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    tasks: int = 0
    fixes: int = 0

    @property
    def total_tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return _counted(self, other, lambda one, two: one + two)

    def less(self, other: Usage) -> Usage:
        """Take what was only reserved back out; never below zero."""
        return _counted(self, other, lambda one, two: max(0, one - two))


def _counted(one: Usage, two: Usage, count: Callable[[float, float], float]) -> Usage:
    # Counts of counts are counts: nothing to validate again, and a run adds up thousands of times.
    counts = {name: count(vars(one)[name], value) for name, value in vars(two).items() if value}
    return one.model_copy(update=counts) if counts else one
