"""Who is told what happens: those who stream, and LangChain's callbacks."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    BaseCallbackHandler,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.runnables import RunnableConfig

from langgraph_recursive.state.event import Event

__all__ = ("Listener",)

_DEAF = (BaseCallbackHandler.on_custom_event, AsyncCallbackHandler.on_custom_event)


class Listener:
    """Passes events on from the outermost node that is running, in that node's own context.

    Written from there, events of nested tasks reach a caller who streams without `subgraphs=True` too. Callbacks get
    each as a custom event named by its type, with the node's run as its run, in order; `astream_events` shows those.

    Args:
        writer: The node's stream writer.
        config: The node's config.
        loop: The event loop of an async run. In a sync one events are dispatched by the thread they happen in.
    """

    def __init__(
        self, writer: Callable[[Any], None], config: RunnableConfig, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._writer = writer
        self._config = config
        self._loop = loop
        self._context = contextvars.copy_context()
        self._called_back = _has_listener(config)
        self._dispatching: asyncio.Task[None] | None = None

    def tell(self, event: Event) -> None:
        """Pass an event on."""
        self._context.copy().run(self._tell, event)

    def _tell(self, event: Event) -> None:
        self._writer(event)
        if not self._called_back:
            return
        if self._loop is None:
            dispatch_custom_event(event["type"], event, config=self._config)
            return
        self._dispatching = self._loop.create_task(self._adispatch(event, after=self._dispatching))

    async def _adispatch(self, event: Event, *, after: asyncio.Task[None] | None) -> None:
        if after is not None:
            await after
        await adispatch_custom_event(event["type"], event, config=self._config)

    async def told(self) -> None:
        """Wait until the callbacks have had every event so far."""
        if self._dispatching is not None:  # a handler with `raise_error` ends the run, as for any other event
            await asyncio.shield(self._dispatching)


def _has_listener(config: RunnableConfig) -> bool:
    """Whether any callback handler wants custom events: without one they cost nothing."""
    callbacks = config.get("callbacks")
    handlers = callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", [])
    return any(
        not handler.ignore_custom_event and getattr(type(handler), "on_custom_event", None) not in _DEAF
        for handler in handlers
    )
