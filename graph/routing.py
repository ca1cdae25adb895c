"""Routing: which node comes next. Every edge of the state machine that depends on the state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.graph import END

from langgraph_recursive.nodes.frame import Frame

__all__ = ("after_admit", "after_answer", "after_decompose", "after_recovery", "after_review", "after_verify")


def after_admit(state: Mapping[str, Any]) -> str:
    """A refused spec ends the task; else the attempt starts at the node that makes its answer."""
    return END if state.get("halt") is not None else Frame.load(state).attempt.start


def after_decompose(state: Mapping[str, Any]) -> str:
    """A plan runs as sub-tasks; without one the task is solved directly."""
    if state.get("halt") is not None:
        return END
    return "subtasks" if state.get("plan") else "solve"


def after_review(state: Mapping[str, Any]) -> str:
    """A failed child ends the task or has it planned anew; else the accepted results are combined."""
    if state.get("halt") is not None:
        return END
    return "decompose" if state.get("replanning") else "aggregate"


def after_answer(state: Mapping[str, Any]) -> str:
    """An answer is verified; a report without one has ended the task."""
    return END if state.get("halt") is not None else "verify"


def after_verify(state: Mapping[str, Any]) -> str:
    """An accepted answer or a validator's error ends the task; a rejected answer is recovered."""
    return END if state.get("success") or state.get("halt") is not None else "recovery"


def after_recovery(state: Mapping[str, Any]) -> str:
    """The next attempt is admitted like the first."""
    return END if state.get("halt") is not None else "admit"
