"""EventEmitter: calls handlers with a solver's events, beside the run."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Literal, get_args
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from langgraph_recursive.state.errors import ComponentError, InvalidInputError
from langgraph_recursive.state.event import Event, EventType

__all__ = ("EventEmitter",)

_log = logging.getLogger(__name__)

_TYPES = (*get_args(EventType), "*")
_Handler = Callable[[Event], Awaitable[None] | None]


class EventEmitter(BaseCallbackHandler):
    """Calls handlers with the events of solvers: a LangChain callback handler that is given in a run's config.

        emitter = EventEmitter()
        emitter.subscribe("halted", lambda event: print(event["task_id"], event["data"]["detail"]))
        solver.invoke(task, {"callbacks": [emitter]})

    It also hears solvers inside chains, agents and other graphs. Handlers are called one after the other, in the order
    of the events, in a thread of the emitter's own, so that they do not hold up the run; async ones get an event loop
    there. The outermost run that it hears returns after they have ended. One that raises is logged and changes nothing.
    A resumed run may tell an event again.
    """

    def __init__(self) -> None:
        self._handlers: list[tuple[str, _Handler]] = []
        self._waiting: deque[tuple[_Handler, Event]] = deque()
        self._changed = threading.Condition()
        self._worker: threading.Thread | None = None
        self._runs: set[UUID] = set()

    def subscribe(self, event_type: EventType | Literal["*"], handler: _Handler) -> Callable[[], None]:
        """Have a handler called with each event of a type.

        Args:
            event_type: The type; `*` stands for all.
            handler: `(event) -> None`, sync or async.

        Returns:
            A function that ends the subscription.

        Raises:
            InvalidInputError: There is no such type.
            ComponentError: The handler cannot be called with an event.
        """
        entry = (_checked_type(event_type), checked_handler(handler))
        self._handlers = [*self._handlers, entry]

        def end() -> None:
            self._handlers = [kept for kept in self._handlers if kept is not entry]

        return end

    def unsubscribe(self, event_type: EventType | Literal["*"], handler: _Handler) -> None:
        """End a subscription; one that is not there is left so.

        Raises:
            InvalidInputError: There is no such type.
        """
        entry = (_checked_type(event_type), handler)
        self._handlers = [kept for kept in self._handlers if kept != entry]

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Have an event handled; what is no event of a solver is passed over."""
        if not isinstance(data, dict) or data.get("type") != name or "task_id" not in data:
            return
        event: Event = data  # type: ignore[assignment]  # what the listener dispatches under the type's name
        for wanted, handler in self._handlers:
            if wanted in (name, "*"):
                self._put(handler, event)

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Note a run, to know which is the outermost: within a host's node it has a parent that is not heard here."""
        self._runs.add(run_id)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """Wait for the handlers when the outermost run ends."""
        if self._was_outermost(run_id, parent_run_id):
            self.wait()

    def on_chain_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Wait for the handlers when the outermost run fails; a person who interrupts it is not held up."""
        if self._was_outermost(run_id, parent_run_id) and isinstance(error, Exception):
            self.wait()

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Note a run of a tool."""
        self._runs.add(run_id)

    def on_tool_end(self, output: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """Wait for the handlers when the outermost run was a tool's."""
        if self._was_outermost(run_id, parent_run_id):
            self.wait()

    def on_tool_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Wait for the handlers when the outermost run was that of a tool that failed."""
        if self._was_outermost(run_id, parent_run_id) and isinstance(error, Exception):
            self.wait()

    def _was_outermost(self, run_id: UUID, parent_run_id: UUID | None) -> bool:
        self._runs.discard(run_id)
        return parent_run_id not in self._runs

    def wait(self) -> None:
        """Wait until every event so far has been handled; within a handler there is nothing to wait for."""
        with self._changed:
            if self._worker is not threading.current_thread():
                self._changed.wait_for(lambda: self._worker is None)

    def _put(self, handler: _Handler, event: Event) -> None:
        with self._changed:
            self._waiting.append((handler, event))
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, daemon=True, name="langgraph-recursive-events")
                self._worker.start()

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._worker = None
                    self._changed.notify_all()
                    return
                handler, event = self._waiting.popleft()
            try:
                answer = handler(event)
                if inspect.isawaitable(answer):
                    asyncio.run(_awaited(answer))
            except Exception:  # noqa: BLE001 - whatever it raises is its own affair: the run goes on
                _log.exception("a handler of %s raised: %r", event["type"], handler)


async def _awaited(answer: Awaitable[None]) -> None:
    await answer


def _checked_type(given: Any) -> str:
    if given not in _TYPES:
        raise InvalidInputError(
            f"event_type = {given!r}: must be one of {', '.join(_TYPES)}", field="event_type", value=given
        )
    return str(given)


def checked_handler(given: Any) -> Any:
    """Give a handler back that can be called with one event.

    Raises:
        ComponentError: It cannot.
    """
    try:
        inspect.signature(given).bind(None)
    except ValueError:  # some builtins have no signature
        pass
    except TypeError as error:
        raise ComponentError(
            f"handler = {given!r}: must be callable with one event: {error}", field="handler", value=given
        ) from error
    return given
