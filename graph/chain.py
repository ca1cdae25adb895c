"""A graph inside a chain: it gives one final value there, in a chain's `stream` as in its `invoke`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig, RunnableWithFallbacks

__all__ = ("GivesOneValue",)


class GivesOneValue(Runnable[Any, Any]):
    """For graphs, whose own `stream` yields updates: a step of a chain must yield what the next step works on."""

    def transform(self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Give one final value inside a chain's `stream`, the same as in its `invoke`."""
        yield self.invoke(_joined(list(input)), config, **kwargs)

    async def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Give one final value inside a chain's `astream`."""
        yield await self.ainvoke(_joined([chunk async for chunk in input]), config, **kwargs)

    def with_fallbacks(
        self,
        fallbacks: Sequence[Runnable[Any, Any]],
        *,
        exceptions_to_handle: tuple[type[BaseException], ...] = (Exception,),
        exception_key: str | None = None,
    ) -> RunnableWithFallbacks[Any, Any]:
        """Go on with others where this raises, as `Runnable.with_fallbacks` does, in a chain's `stream` too."""
        return _Fallbacks(
            runnable=self,
            fallbacks=list(fallbacks),
            exceptions_to_handle=exceptions_to_handle,
            exception_key=exception_key,
        )


class _Fallbacks(RunnableWithFallbacks[Any, Any]):
    transform = GivesOneValue.transform
    atransform = GivesOneValue.atransform


def _joined(chunks: list[Any]) -> Any:
    """Put the chunks of an input together; what cannot be added is replaced."""
    whole = chunks[0]
    for chunk in chunks[1:]:
        try:
            whole = whole + chunk
        except TypeError:
            whole = chunk
    return whole
