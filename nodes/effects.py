"""Effects: one body per node, run by a sync loop or an async loop.

A node is an `async def` whose awaits are effects. `drive` performs them with blocking calls and `adrive` with awaiting
ones, so no node has a sync twin and an async twin. An effect says what is to be done; only its two `perform` methods
know how each world does it.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar, cast

from langchain_core.runnables import Runnable
from langgraph.errors import GraphInterrupt
from langgraph.func import task as langgraph_task
from langgraph.types import RetryPolicy

from langgraph_recursive.state.errors import CallTimeoutError

__all__ = ("Body", "Effect", "Handle", "Invoke", "Join", "Start", "adrive", "drive", "gather")

T = TypeVar("T")
Body = Coroutine[Any, Any, T]


class Effect(Generic[T]):
    """Something a node waits for."""

    def __await__(self) -> Generator[Any, Any, T]:
        value: T = yield self
        return value

    def perform(self) -> T:
        """Do it now, blocking this thread."""
        raise TypeError(f"{type(self).__name__} cannot be performed")

    async def aperform(self) -> T:
        """Do it without blocking the event loop."""
        return self.perform()


def drive(body: Body[T]) -> T:
    """Run a body in this thread."""
    try:
        effect = body.send(None)
        while True:
            try:
                value = effect.perform()
            except BaseException as error:  # noqa: BLE001 - handed to the body, which decides
                effect = body.throw(error)
            else:
                effect = body.send(value)
    except StopIteration as stop:
        return cast(T, stop.value)


async def adrive(body: Body[T]) -> T:
    """Run a body on the event loop."""
    try:
        effect = body.send(None)
        while True:
            try:
                value = await effect.aperform()
            except BaseException as error:  # noqa: BLE001 - handed to the body, which decides
                effect = body.throw(error)
            else:
                effect = body.send(value)
    except StopIteration as stop:
        return cast(T, stop.value)


class Handle(Generic[T]):
    """A durable call under way."""

    def __init__(self, future: Future[T] | asyncio.Future[T]) -> None:
        self.future = future

    def then(self, use: Callable[[T], None]) -> None:
        """Have its value used as soon as it is there, also one that an earlier process stored."""

        def ended(future: Future[T] | asyncio.Future[T]) -> None:
            if not future.cancelled() and future.exception() is None:
                use(future.result())

        self.future.add_done_callback(ended)


class Start(Effect[Handle[T]]):
    """Start a durable call: a LangGraph `task`, whose result is in the checkpoint once it is there.

    A task's identity is its name and its call index within the node, not its arguments: the order of starts must be
    the same whenever the node runs.

    Args:
        name: Name of the task; it becomes part of checkpoint namespaces, so it is short.
        body: Makes the body; called again for every try.
        retry: When to try again; None tries once.
    """

    def __init__(self, name: str, body: Callable[[], Body[T]], *, retry: RetryPolicy | None = None) -> None:
        self.name = name
        self.body = body
        self.retry = retry

    def perform(self) -> Handle[T]:
        """Start it from this thread."""
        body = self.body

        def call() -> T:
            return drive(body())

        return Handle(_launch(call, self.name, self.retry))

    async def aperform(self) -> Handle[T]:
        """Start it from this event loop."""
        body = self.body

        async def call() -> T:
            return await adrive(body())

        return Handle(cast("asyncio.Future[T]", _launch(call, self.name, self.retry)))


def _launch(call: Callable[..., Any], name: str, retry: RetryPolicy | None) -> Any:
    durable: Callable[[Callable[..., Any]], Any] = langgraph_task(name=name, retry_policy=retry)
    return durable(call)()


class Join(Effect[T]):
    """Wait for a durable call. Several may wait for the same one."""

    def __init__(self, handle: Handle[T]) -> None:
        self.future = handle.future

    def perform(self) -> T:
        """Block until the call has ended."""
        return cast("Future[T]", self.future).result()

    async def aperform(self) -> T:
        """Wait until the call has ended."""
        # One waiter that is cancelled must not cancel the call that others wait for.
        return await asyncio.shield(cast("asyncio.Future[T]", self.future))


async def gather(handles: Sequence[Handle[T]]) -> list[T]:
    """Wait for all calls, however they end, then return their values in order.

    Raises:
        GraphInterrupt: At least one was interrupted; it carries the interrupts of all.
        BaseException: The first other error.
    """
    values: list[T] = []
    interrupts: list[Any] = []
    errors: list[BaseException] = []
    for handle in handles:
        try:
            values.append(await Join(handle))
        except GraphInterrupt as interrupt:
            interrupts += interrupt.args[0] if interrupt.args else ()
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise
        except BaseException as error:  # noqa: BLE001 - raised below, after the others have ended
            errors.append(error)
    if errors:
        raise errors[0]
    if len(values) < len(handles):
        raise GraphInterrupt(tuple({item.id: item for item in interrupts}.values()))
    return values


class Invoke(Effect[T]):
    """Call a function or a Runnable, sync or async, in either world.

    Each call under the sync loop has a thread of its own, so that it can be left when it is overdue, and so that an
    async function gets an event loop of its own even where one is running. A sync function under the async loop runs
    in a thread.

    Args:
        function: What to call.
        args: Its positional arguments; a Runnable takes its input and, if given, a config.
        timeout: Seconds it may take; None sets no limit. A thread cannot be stopped: under the sync loop an
            overdue call is left to end by itself.
    """

    def __init__(
        self,
        function: Callable[..., T | Awaitable[T]] | Runnable[Any, T],
        *args: Any,
        timeout: float | None = None,
    ) -> None:
        self.function = function
        self.args = args
        self.timeout = timeout

    def perform(self) -> T:
        """Call it, blocking this thread."""
        if isinstance(self.function, Runnable):
            call = functools.partial(self.function.invoke, *self.args)
        else:
            call = functools.partial(_finished, self.function, self.args)
        return cast(T, _in_thread(call, self.timeout))

    async def aperform(self) -> T:
        """Call it without blocking the event loop."""
        try:
            async with asyncio.timeout(self.timeout) as limit:
                return cast(T, await self._awaited())
        except TimeoutError as error:
            if limit.expired():
                raise _overdue(cast(float, self.timeout)) from error
            raise

    async def _awaited(self) -> Any:
        if isinstance(self.function, Runnable):
            return await self.function.ainvoke(*self.args)
        if inspect.iscoroutinefunction(self.function):
            return await self.function(*self.args)
        value = await asyncio.wrap_future(_submit(functools.partial(self.function, *self.args)))
        return await value if inspect.isawaitable(value) else value


def _finished(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a function in a thread that has no event loop, and run what it returns if that is to be awaited."""
    value = function(*args)
    return asyncio.run(_awaiting(value)) if inspect.isawaitable(value) else value


async def _awaiting(value: Awaitable[Any]) -> Any:
    return await value


def _submit(call: Callable[[], Any]) -> Future[Any]:
    """Run a call in a daemon thread: one that never ends holds up neither a pool nor the end of the process."""
    future: Future[Any] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            value = context.run(call)
        except BaseException as error:  # noqa: BLE001 - travels to whoever waits
            _settle(future, future.set_exception, error)
        else:
            _settle(future, future.set_result, value)

    threading.Thread(target=run, daemon=True, name="langgraph-recursive-call").start()
    return future


def _settle(future: Future[Any], setter: Callable[[Any], None], value: Any) -> None:
    if not future.cancelled():
        setter(value)


def _in_thread(call: Callable[[], Any], timeout: float | None) -> Any:
    future = _submit(call)
    try:
        return future.result(timeout)
    except TimeoutError as error:
        if not future.done():
            raise _overdue(cast(float, timeout)) from error
        raise


def _overdue(timeout: float) -> CallTimeoutError:
    return CallTimeoutError(f"the call took longer than {round(timeout, 2):g} s", field="call_timeout", value=timeout)
