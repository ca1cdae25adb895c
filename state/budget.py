"""Budget: what a whole run may spend."""

from __future__ import annotations

from pydantic import Field

from ._model import Given

__all__ = ("Budget",)


class Budget(Given):
    """Limits of one run, its whole tree and its validators included. None sets no limit.

    Calls and tasks hold exactly. Tokens are reserved by the model's own `max_tokens` before a call and settled by what
    the provider reports after it; without `max_tokens`, and for cost, the calls in flight may overshoot.

    Attributes:
        max_llm_calls: Model calls as LangChain reports them, and one for each call of a part in which it saw none: a
            plain function may call a model unseen. Tools and commands do not count.
        max_tokens: Tokens read and written, as far as providers report them.
        max_cost: Cost in the currency of the price function (`SolvePolicy.price`). A call of a model without a price
            ends its task: else the limit could not hold.
        max_seconds: Wall time of the run in seconds; time between a kill and the resume does not count.
        max_tasks: Tasks started, the root included.
    """

    max_llm_calls: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, gt=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_tasks: int | None = Field(default=None, ge=1)
