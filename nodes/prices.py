"""Prices: what a model call costs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from langchain_core.messages.ai import UsageMetadata

from langgraph_recursive.state.errors import MissingDependencyError

__all__ = ("Price", "listed_price", "require_price_list")

Price = Callable[[str, UsageMetadata], float]
"""`(model name, usage) -> cost`. It raises LookupError for a model that it has no price for."""


def require_price_list() -> None:
    """Refuse to limit cost without prices before a call is paid for.

    Raises:
        MissingDependencyError: The package `genai-prices` is not installed.
    """
    if importlib.util.find_spec("genai_prices") is None:
        raise MissingDependencyError(
            "max_cost needs prices: pip install 'langgraph-recursive[prices]', or give SolvePolicy(price=...)",
            field="max_cost",
        )


def listed_price(model: str, usage: UsageMetadata) -> float:
    """The price list of the package `genai-prices` (extra `prices`), in US dollars.

    Raises:
        LookupError: It does not list the model.
        MissingDependencyError: The package is not installed.
    """
    require_price_list()
    from genai_prices import Usage, calc_price

    found = calc_price(Usage(input_tokens=usage["input_tokens"], output_tokens=usage["output_tokens"]), model)
    return float(found.total_price)
