"""solve: answer a task that is not split."""

from __future__ import annotations

from typing import Literal, cast

from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.task import HaltType
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import cut

from .context import Context
from .node import Update
from .outcome import halted

__all__ = ("reported", "solve")


async def solve(state: TaskState, context: Context) -> Update:
    """Have the solver answer the task."""
    task = state.attempt
    report = cast(TaskReport, await context.parts.solver(context, task=task))
    context.trace("SOLVED", cut(report.text), attempt=task.attempt)
    context.emit_done("solved", answer=cut(report.text))
    return reported(state, context, report, made_by="solve")


def reported(
    state: TaskState, context: Context, report: TaskReport, *, made_by: Literal["solve", "aggregate"]
) -> Update:
    """Take a report in; one without an answer ends the task (rules.md 10)."""
    report = report.model_copy(update={"child_task_id": state.attempt.id})
    update: Update = {"report": report, "made_by": made_by, "verdict": None}
    if report.answered:
        return update
    kind: HaltType = "protocol_error" if report.outcome == "protocol_error" else "task_failed"
    return {**update, **halted(state, context, kind, report.summary, report=report)}
