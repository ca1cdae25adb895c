"""Prices: what a model call costs."""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.messages.ai import UsageMetadata

from langgraph_recursive.state.errors import MissingDependencyError

__all__ = ("Price", "listed_price")

Price = Callable[[str, UsageMetadata], float]
"""`(model name, usage) -> cost`. A model it does not know costs what it says, 0 for instance."""


def listed_price(model: str, usage: UsageMetadata) -> float:
    """The price list of the package `genai-prices` (extra `prices`), in US dollars; 0 for a model it does not list.

    Raises:
        MissingDependencyError: The package is not installed.
    """
    try:
        from genai_prices import Usage, calc_price
    except ImportError as error:
        raise MissingDependencyError(
            "max_cost needs prices: pip install 'langgraph-recursive[prices]', or give SolvePolicy(price=...)",
            field="max_cost",
        ) from error
    try:
        found = calc_price(Usage(input_tokens=usage["input_tokens"], output_tokens=usage["output_tokens"]), model)
    except LookupError:
        return 0.0
    return float(found.total_price)
