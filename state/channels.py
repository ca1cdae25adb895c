"""The channels of the state machine: what LangGraph stores for each task."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.graph.message import add_messages

from .brief import RootTaskAnchor, SubTask, TaskBrief
from .report import TaskReport
from .task import Attempt, Halt, Partial, Task
from .task_state import TaskState
from .trace import SolveTrace
from .usage import Usage
from .verdict import ValidationResult, Verdict

__all__ = ("SolverInput", "SolverOutput", "SolverState")


class SolverInput(TypedDict, total=False):
    """What a run is given.

    `task` lives for one step only, so that the next turn of a thread cannot solve it again. `task_id` names the root
    task, `t` without it. `seed` is the state that a task goes on from; the framework hands it to a child.
    """

    task: Annotated[str | TaskBrief | RootTaskAnchor | Task | dict[str, Any] | None, EphemeralValue]
    task_id: Annotated[str | None, EphemeralValue]
    seed: Annotated[TaskState | None, EphemeralValue]
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
    """The channels of the graph. Every node reads and writes `state`; the outputs are written by the root, at the end.

    `traces` is assembled from the logs of all tasks and is not stored again.
    """

    state: TaskState
    recorded: Annotated[list[SubTask] | Verdict, UntrackedValue]
