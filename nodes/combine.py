"""The solver as aggregator, where none is given (rules.md 31)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.task import Task

from .components import Component, Part
from .context import current_context
from .parts.aggregators import aggregation_task

__all__ = ("SolvingAggregator",)


class SolvingAggregator(Part):
    """Has the solver combine results: it is called with a task whose spec is the aggregation prompt.

    Args:
        solver: The solver.
    """

    def __init__(self, solver: Component) -> None:
        self.solver = solver

    async def run(self, task: Task, results: Sequence[Answer], missing: Mapping[str, str]) -> Any:
        """Combine the results."""
        context = current_context()
        if context is None:
            raise RuntimeError("the solver combines results only inside a run")
        return await self.solver(context, task=aggregation_task(task, results, missing))
