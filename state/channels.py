"""The channels of the state machine: what LangGraph stores for each task."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.graph.message import add_messages

from .brief import RootTaskAnchor, TaskBrief
from .report import TaskReport
from .review import TaskReview
from .task import Attempt, ChildResult, Halt, Partial, PlannedChild, Task
from .trace import SolveTrace
from .usage import Usage
from .verdict import ValidationResult

__all__ = ("SolverInput", "SolverOutput", "SolverState")


class SolverInput(TypedDict, total=False):
    """What a run is given.

    `task` lives for one step only, so that the next turn of a thread cannot solve it again. `task_id` names the root
    task, `t` without it.
    """

    task: Annotated[str | TaskBrief | RootTaskAnchor | Task | dict[str, Any] | None, EphemeralValue]
    task_id: Annotated[str | None, EphemeralValue]
    messages: Annotated[list[AnyMessage], add_messages]


class SolverOutput(TypedDict, total=False):
    """What a run gives back (design.md section 9)."""

    output: str | None
    partial: list[Partial]
    success: bool
    verified: bool
    halt: Halt | None
    report: TaskReport | None
    verdict: ValidationResult | None
    attempts: list[Attempt]
    traces: Annotated[list[SolveTrace], UntrackedValue]
    usage: Usage
    total_usage: Usage
    messages: Annotated[list[AnyMessage], add_messages]


class SolverState(SolverInput, SolverOutput, total=False):
    """Everything one task's graph carries. Each task has its own; a checkpoint never holds the whole tree.

    The outputs above are the root's face to the world; `traces` is assembled from all tasks' `log` when the run ends
    and is not stored twice.
    """

    current: Task
    plan: list[PlannedChild]
    children: dict[str, ChildResult]
    reviews: list[TaskReview]
    next_child: int
    replans: int
    replanning: bool
    made_by: Literal["solve", "aggregate"]
    best: Partial | None
    best_failures: int
    log: Annotated[list[SolveTrace], operator.add]
    spent: Annotated[Usage, operator.add]
    elapsed: Annotated[float, operator.add]
