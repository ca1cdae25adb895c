"""watch: run something and see its tree of tasks grow, in a notebook's cell or on a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from typing import Any, TextIO, TypeVar

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from langgraph_recursive.state.errors import InvalidInputError, MissingThreadError

from .checkpoints import grown_from, source_of
from .growing import GrowingTree
from .live import LiveTree
from .screens import LinesScreen, NotebookScreen, Screen
from .tree import TaskTree

__all__ = ("awatch", "watch")

Output = TypeVar("Output")


def watch(
    graph: Runnable[Any, Output],
    input: Any,
    config: RunnableConfig | None = None,
    *,
    file: TextIO | None = None,
    **kwargs: Any,
) -> Output:
    """Invoke a solver and show its tree of tasks while it runs; what stays is the whole tree, also after an error.

        result = watch(solver, "Compare three ways to heat a house")

    In a notebook the tree grows in the cell's output, on a terminal in place (with rich, of the extra `cli`), and
    elsewhere each event is a line, with the tree at the end. It is drawn ten times a second at most, beside the run. A
    resumed run goes on with the tree that its checkpoints hold, if `graph` has the checkpointer.

    Args:
        graph: A solver, or whatever it is a part of: a chain, an agent, another graph.
        input: What it is given; None or a Command to resume.
        config: Its config.
        file: Where to draw outside a notebook; None is stderr.
        kwargs: As for `invoke`.

    Returns:
        What `invoke` returns.
    """
    with _shown(file, _known(graph, input, config)) as shown:
        return graph.invoke(input, merge_configs(config, {"callbacks": [shown]}), **kwargs)


async def awatch(
    graph: Runnable[Any, Output],
    input: Any,
    config: RunnableConfig | None = None,
    *,
    file: TextIO | None = None,
    **kwargs: Any,
) -> Output:
    """Invoke a solver on the event loop and show its tree; see `watch`."""
    with _shown(file, await _aknown(graph, input, config)) as shown:
        return await graph.ainvoke(input, merge_configs(config, {"callbacks": [shown]}), **kwargs)


class _Shown(BaseCallbackHandler):
    """Passes the events of solvers on to a screen; LangChain dispatches them as custom events."""

    run_inline = True  # in their order, and on the event loop too

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Show an event; what is no event of a solver is passed over."""
        if isinstance(data, dict) and data.get("type") == name and "task_id" in data:
            self.screen.event(data)


def _known(graph: Any, input: Any, config: RunnableConfig | None) -> GrowingTree | None:
    """What the checkpoints hold of a run that is resumed. One that cannot be read is refused by the run itself."""
    stored = _stored(graph, input, config)
    if stored is None or isinstance(getattr(stored[0], "loop", None), asyncio.AbstractEventLoop):
        return None  # a sync call of a saver that belongs to an event loop may wait for ever
    return grown_from(stored[0].list(stored[1]))


async def _aknown(graph: Any, input: Any, config: RunnableConfig | None) -> GrowingTree | None:
    stored = _stored(graph, input, config)
    if stored is None:
        return None
    try:
        return grown_from([entry async for entry in stored[0].alist(stored[1])])
    except NotImplementedError:  # a sync saver, which the run refuses
        return None


def _stored(
    graph: Any, input: Any, config: RunnableConfig | None
) -> tuple[BaseCheckpointSaver[Any], RunnableConfig] | None:
    if input is not None and not (isinstance(input, Command) and input.resume is not None):
        return None
    try:
        return source_of(graph, merge_configs(getattr(graph, "config", None), config))
    except (InvalidInputError, MissingThreadError):  # a chain, or a mistake that the run tells of
        return None


@contextlib.contextmanager
def _shown(file: TextIO | None, known: GrowingTree | None) -> Iterator[_Shown]:
    screen = _screen(LiveTree(known), file or sys.stderr)
    screen.start()
    try:
        yield _Shown(screen)
    finally:
        screen.stop()


def _screen(tree: LiveTree, file: TextIO) -> Screen:
    if _in_notebook():
        return NotebookScreen(tree)
    if file.isatty() and importlib.util.find_spec("rich"):
        from .terminal import TerminalScreen, animated, console_for  # needs rich

        console = console_for(file)
        if animated(console):
            return TerminalScreen(tree, console)
    return _LinesAndTree(tree, file)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")  # where it is not imported there is no notebook
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _LinesAndTree(LinesScreen):
    def stop(self) -> None:
        """Write the whole tree."""
        with self.tree.lock:
            self.note(str(TaskTree(self.tree.roots(), budget=self.tree.budget)))
