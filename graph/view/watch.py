"""watch: run something and see its tree of tasks grow, in a notebook's cell or on a terminal."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from typing import Any, TextIO, TypeVar

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs

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
    elsewhere each event is a line, with the tree at the end. It is drawn ten times a second at most, beside the run.

    Args:
        graph: A solver, or whatever it is a part of: a chain, an agent, another graph.
        input: What it is given; None or a Command to resume.
        config: Its config.
        file: Where to draw outside a notebook; None is stderr.
        kwargs: As for `invoke`.

    Returns:
        What `invoke` returns.
    """
    with _shown(file) as shown:
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
    with _shown(file) as shown:
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


@contextlib.contextmanager
def _shown(file: TextIO | None) -> Iterator[_Shown]:
    screen = _screen(LiveTree(), file or sys.stderr)
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
