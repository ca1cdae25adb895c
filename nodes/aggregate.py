"""aggregate: combine the accepted results of sub-tasks."""

from __future__ import annotations

from typing import cast

from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.trace import cut

from .context import Context
from .frame import Frame
from .node import Update
from .solve import reported

__all__ = ("aggregate",)


async def aggregate(frame: Frame, context: Context) -> Update:
    """Have the aggregator combine what was accepted; it is told what is missing (`best_effort`)."""
    report = cast(
        TaskReport,
        await context.parts.aggregator(context, task=frame.attempt, results=frame.accepted, missing=frame.missing),
    )
    context.trace("AGGREGATED", cut(report.text))
    context.emit("aggregated", answer=cut(report.text), missing=frame.missing)
    return reported(frame, context, report.model_copy(update={"missing": frame.missing}), made_by="aggregate")
