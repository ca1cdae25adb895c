"""Which context is the current one: that of the node that is running."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .context import Context

__all__ = ("current_context", "entered")

_current: contextvars.ContextVar[Context | None] = contextvars.ContextVar("langgraph_recursive_context", default=None)


def current_context() -> Context | None:
    """The context of the node that is running, or None outside a run."""
    return _current.get()


@contextlib.contextmanager
def entered(context: Context | None) -> Iterator[None]:
    """Make a context the current one; None is outside a run."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)
