"""One run: streamed, shown, and stopped cleanly on Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Interrupt

from ..solver import RecursiveSolver
from ..view.screens import Screen
from .consoles import say
from .problems import STOPPED

__all__ = ("Outcome", "execute")


@dataclass(frozen=True)
class Outcome:
    """How a run came to an end.

    Attributes:
        values: The solver's output; empty when it was stopped before there was one.
        interrupts: Questions that a component asks a person.
        stopped: Whether Ctrl-C ended it.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    interrupts: tuple[Interrupt, ...] = ()
    stopped: bool = False


def execute(solver: RecursiveSolver, input: Any, config: RunnableConfig, screen: Screen, *, farewell: str) -> Outcome:
    """Run a solver to its end, or until Ctrl-C.

    The first Ctrl-C lets the calls in flight end, so that what they cost is not lost; the second ends the process.

    Args:
        solver: With its saver.
        input: What it is given.
        config: With the thread.
        screen: Shows the events.
        farewell: What to say when the process ends at once.
    """
    try:
        # What a user's own parts print must not mix with the answer.
        with contextlib.redirect_stdout(sys.stderr):
            try:
                return asyncio.run(_execute(solver, input, config, screen, farewell))
            finally:
                screen.stop()
    except KeyboardInterrupt:  # where signals cannot be handled on the loop
        return Outcome(stopped=True)


async def _execute(
    solver: RecursiveSolver, input: Any, config: RunnableConfig, screen: Screen, farewell: str
) -> Outcome:
    control = RunControl()
    values: Mapping[str, Any] = {}
    interrupts: tuple[Interrupt, ...] = ()
    with _interruptible(control, screen, farewell):
        try:
            stream = solver.astream(input, config, stream_mode=["custom", "values"], control=control)
            async for mode, chunk in stream:
                screen.start()
                if mode == "values":
                    values = chunk
                    interrupts = tuple(chunk.get("__interrupt__") or ())
                elif _is_event(chunk):
                    screen.event(chunk)
        except GraphDrained:
            return Outcome(stopped=True)
    return Outcome(values, interrupts)


def _is_event(chunk: Any) -> bool:
    return isinstance(chunk, Mapping) and {"type", "task_id", "attempt", "data"} <= chunk.keys()


@contextlib.contextmanager
def _interruptible(control: RunControl, screen: Screen, farewell: str) -> Any:
    def on_interrupt() -> None:
        if control.drain_requested:
            screen.stop()
            say(farewell)
            os._exit(STOPPED)
        control.request_drain("Ctrl-C")
        screen.note("stopping after the calls in flight; Ctrl-C again stops at once")

    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, on_interrupt)
    except (NotImplementedError, RuntimeError, ValueError):  # not on this platform, or not in the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
