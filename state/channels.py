"""The channels of the state machine: what LangGraph stores for each task.

Stored is plain data only, never a class: no class path becomes file format, a saver's allow-list has nothing to block,
and a server sends the same as a checkpoint holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.channels import EphemeralValue, LastValue, UntrackedValue
from langgraph.graph.message import add_messages
from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic takes typing's own only from Python 3.12 on

from ._model import Data, plain
from .brief import RootTaskAnchor, TaskBrief
from .report import TaskReport
from .task import Attempt, Halt, Partial, Task
from .task_state import TaskState
from .trace import SolveTrace
from .usage import Usage
from .verdict import ValidationResult

__all__ = ("Record", "SolverInput", "SolverOutput", "SolverState", "Written")


class Written(dict[str, Any]):
    """Plain data that still knows the value it was made of, so that nothing in this process parses it again."""

    def __init__(self, value: Data) -> None:
        super().__init__(plain(value))
        self.value = value


class Record(LastValue[Any]):
    """A channel whose value is typed for those who read it and plain data where it is stored."""

    __slots__ = ("stored",)

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.stored: Any = None

    def copy(self) -> Record:
        """Return a copy of the channel."""
        channel = super().copy()
        channel.stored = self.stored
        return channel

    def update(self, values: Sequence[Any]) -> bool:
        """Take a value in, typed or plain."""
        self.stored = values[-1] if values else self.stored
        return super().update([self._typed(value) for value in values])

    def checkpoint(self) -> Any:
        """The value as plain data."""
        return plain(self.stored if isinstance(self.stored, Written) else self.value)

    def from_checkpoint(self, checkpoint: Any) -> Record:
        """Read a stored value back."""
        channel = super().from_checkpoint(checkpoint)
        if channel.is_available():
            channel.value = self._typed(checkpoint)
        return channel

    def _typed(self, value: Any) -> Any:
        return value.value if isinstance(value, Written) else _adapter(self.typ).validate_python(value)


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    key = str(kind)
    if key not in _ADAPTERS:
        _ADAPTERS[key] = TypeAdapter(kind)
    return _ADAPTERS[key]


class SolverInput(TypedDict, total=False):
    """What a run is given.

    `task` lives for one step only, so that the next turn of a thread cannot solve it again. `task_id` names the root
    task, `t` without it. `attempt` and `seed` are the framework's: the attempt to start, as plain data, and the state
    that it goes on from.
    """

    task: Annotated[str | TaskBrief | RootTaskAnchor | Task | dict[str, Any] | None, EphemeralValue]
    task_id: Annotated[str | None, EphemeralValue]
    attempt: Annotated[dict[str, Any] | None, EphemeralValue]
    seed: Annotated[dict[str, Any] | None, EphemeralValue]
    messages: Annotated[list[AnyMessage], add_messages]


class SolverOutput(TypedDict, total=False):
    """What a run gives back (design.md section 9)."""

    output: str | None
    partial: Annotated[list[Partial], Record]
    success: bool
    verified: bool
    waived_by: str | None
    halt: Annotated[Halt | None, Record]
    report: Annotated[TaskReport | None, Record]
    verdict: Annotated[ValidationResult | None, Record]
    attempts: Annotated[list[Attempt], Record]
    traces: Annotated[list[SolveTrace], UntrackedValue]
    usage: Annotated[Usage, Record]
    total_usage: Annotated[Usage, Record]
    messages: Annotated[list[AnyMessage], add_messages]


class SolverState(SolverInput, SolverOutput, total=False):
    """The channels of the graph. Every node reads and writes `state`; the outputs are written by the root, at the end.

    `traces` is assembled from the logs of all tasks and is not stored again. `parent_messages` is the conversation of
    an `agent_parent` about this task.
    """

    state: Annotated[TaskState, Record]
    parent_messages: Annotated[list[AnyMessage], add_messages]
