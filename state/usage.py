"""Usage: what a task or a whole run has spent."""

from __future__ import annotations

from ._model import Data

__all__ = ("Usage",)


class Usage(Data):
    """Counts that only grow.

    Attributes:
        calls: Component calls: solver, decomposer, verifier and so on, a model's or a function's.
        model_calls: Calls of a chat model or LLM, as LangChain's callbacks reported them.
        input_tokens: Tokens read, as far as the provider reports them.
        output_tokens: Tokens written, likewise.
        tasks: Tasks started.
        fixes: Fix attempts made.
    """

    calls: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tasks: int = 0
    fixes: int = 0

    @property
    def total_tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            model_calls=self.model_calls + other.model_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            tasks=self.tasks + other.tasks,
            fixes=self.fixes + other.fixes,
        )
