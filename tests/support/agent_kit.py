"""What the tests of the simple agent share: both worlds, and a tool."""

from __future__ import annotations

from collections.abc import Callable

from langgraph_recursive.graph import AgentResult

__all__ = ("Solve", "add")

Solve = Callable[..., AgentResult]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
