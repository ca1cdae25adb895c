"""A routing function as LangGraph runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

__all__ = ("Route",)


class Route(Runnable[dict[str, Any], str]):
    """A routing function that runs in place, where a plain function would get a thread of its own.

    Args:
        function: Takes the channels and names the next node.
    """

    def __init__(self, function: Callable[[Mapping[str, Any]], str]) -> None:
        self.function = function
        self.name = function.__name__

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Name the next node."""
        return self.function(input)

    async def ainvoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Name the next node, without leaving the event loop."""
        return self.function(input)
