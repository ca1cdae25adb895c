"""aggregate: combine the accepted results of sub-tasks."""

from __future__ import annotations

from typing import cast

from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import cut

from .context import Context
from .node import Update
from .solve import reported

__all__ = ("aggregate",)


async def aggregate(state: TaskState, context: Context) -> Update:
    """Have the aggregator combine what was accepted; it is told what is missing (`best_effort`)."""
    names = {child.id: child.brief.objective for child in state.plan}
    missing = {child: names[child] for child in state.missing}
    # What an accepted part had to do without is missing in the whole as well.
    lacking = [*missing, *(lost for answer in state.accepted for lost in answer.report.missing)]
    report = cast(
        TaskReport,
        await context.parts.aggregator(context, task=state.attempt, results=state.accepted, missing=missing),
    )
    context.trace("AGGREGATED", cut(report.text))
    context.emit_done("aggregated", answer=cut(report.text), missing=list(missing))
    return reported(state, context, report.model_copy(update={"missing": lacking}), made_by="aggregate")
