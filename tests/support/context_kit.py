"""One snapshot that tasks are granted, and small things to read it with."""

from __future__ import annotations

from typing import Any

from langgraph.store.memory import InMemoryStore

from langgraph_recursive.nodes import ContextStore
from langgraph_recursive.state import ContextRef, Owner, TaskBrief, TaskState
from scripted import tool_call
from validation_kit import brief

__all__ = ("CONFIG", "OWNER", "REF", "TEXT", "granted", "read_call", "snapshots", "state_of")

OWNER = Owner.of_thread("thread", user_id="ann")
CONFIG: Any = {"configurable": {"thread_id": "thread", "user_id": "ann"}}
TEXT = "".join(f"line {number:04}\n" for number in range(100))  # 1,000 characters
REF = ContextRef(ref_id="notes", version="1")


def snapshots() -> ContextStore:
    """A store that holds the one snapshot."""
    made = ContextStore(InMemoryStore())
    made.put(TEXT, owner=OWNER, ref_id="notes")
    return made


def granted(*refs: ContextRef, objective: str = "use the notes") -> TaskBrief:
    """A brief that grants references, the one snapshot's if none is named."""
    return brief(objective, context_refs=list(refs or [REF]))


def read_call(call_id: str = "call_1", **args: Any) -> Any:
    """A model's call of the tool."""
    return tool_call("read_context_ref", call_id, **{"ref_id": "notes", "version": "1", **args})


def state_of(solver: Any, config: Any = None) -> TaskState:
    """The root's state."""
    return TaskState.model_validate(solver.get_state(config or CONFIG).values["state"])
