"""Events of the simple agent: who wants them, and how they get there without holding up the run."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from langgraph_recursive.nodes.effects import Invoke, adrive, drive
from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.goal_state import AgentEvent

from ..emitter import checked_handler

__all__ = ("AgentEmitter", "Handler", "LoopDelivery", "Subscriptions", "ThreadDelivery")

_log = logging.getLogger(__name__)

_Event = TypeVar("_Event", bound=AgentEvent)
Handler = Callable[[Any], Awaitable[None] | None]
Subscriptions = Mapping[type[AgentEvent], Handler | Sequence[Handler]]
_Item = tuple[Handler, AgentEvent]


class AgentEmitter:
    """Knows who handles which events.

    Args:
        subscriptions: Handlers, one or several, by class of event.

    Raises:
        InvalidInputError: A key is no class of event.
        ComponentError: A handler cannot be called with an event.
    """

    def __init__(self, subscriptions: Subscriptions | None = None) -> None:
        self._handlers: list[tuple[type[AgentEvent], Handler]] = []
        if not isinstance(subscriptions, Mapping | None):
            raise InvalidInputError(
                "subscribe: give handlers by class of event, {GoalAchievedEvent: handler}",
                field="subscribe",
                value=subscriptions,
            )
        for event_type, given in (subscriptions or {}).items():
            for handler in given if isinstance(given, Sequence) else [given]:
                self.subscribe(event_type, handler)

    def subscribe(
        self, event_type: type[_Event], handler: Callable[[_Event], Awaitable[None] | None]
    ) -> Callable[[], None]:
        """Have a handler called with each event of a class; `AgentEvent` stands for all.

        Args:
            event_type: The class.
            handler: `(event) -> None`, sync or async.

        Returns:
            A function that ends the subscription.

        Raises:
            InvalidInputError: It is no class of event.
            ComponentError: The handler cannot be called with an event.
        """
        entry = (_event_type(event_type), checked_handler(handler))
        self._handlers = [*self._handlers, entry]

        def end() -> None:
            self._handlers = [kept for kept in self._handlers if kept is not entry]

        return end

    def unsubscribe(self, event_type: type[_Event], handler: Callable[[_Event], Awaitable[None] | None]) -> None:
        """End a subscription; one that is not there is left so.

        Raises:
            InvalidInputError: It is no class of event.
        """
        entry = (_event_type(event_type), handler)
        self._handlers = [kept for kept in self._handlers if kept != entry]

    def handlers(self, event: AgentEvent) -> list[Handler]:
        """Who is to get an event, in the order of the subscriptions."""
        return [handler for event_type, handler in self._handlers if isinstance(event, event_type)]


def _event_type(given: Any) -> type[AgentEvent]:
    if not (isinstance(given, type) and issubclass(given, AgentEvent)):
        raise InvalidInputError(
            f"event_type = {given!r}: must be a class of event, such as GoalAchievedEvent",
            field="event_type",
            value=given,
        )
    return given


async def _handed(handler: Handler, event: AgentEvent) -> None:
    """Call a handler; one that raises changes nothing."""
    try:
        await Invoke(handler, event)
    except Exception:  # noqa: BLE001 - whatever it raises is its own affair: the run goes on
        _log.exception("a handler of %s raised: %r", type(event).__name__, handler)


class ThreadDelivery:
    """Hands the events of one run over in a thread, in order; leaving it waits for that."""

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, handler: Handler, event: AgentEvent) -> None:
        """Have a handler called."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True, name="langgraph-recursive-events")
            self._thread.start()
        self._items.put((handler, event))

    def _work(self) -> None:
        while (item := self._items.get()) is not None:
            drive(_handed(*item))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._items.put(None)
        if self._thread is not None and not isinstance(error, KeyboardInterrupt):
            self._thread.join()


class LoopDelivery:
    """Hands the events of one run over on the event loop, in order; leaving it waits for that."""

    def __init__(self) -> None:
        self._items: asyncio.Queue[_Item | None] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None

    def put(self, handler: Handler, event: AgentEvent) -> None:
        """Have a handler called."""
        self._items.put_nowait((handler, event))

    async def _work(self) -> None:
        while (item := await self._items.get()) is not None:
            await adrive(_handed(*item))

    async def __aenter__(self) -> Self:
        self._worker = asyncio.create_task(self._work())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._worker is None:
            return
        if isinstance(error, asyncio.CancelledError):
            self._worker.cancel()
        self._items.put_nowait(None)
        await asyncio.wait([self._worker])
