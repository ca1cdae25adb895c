"""The conversation of an `agent_parent` about a task, as it was when the task was somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph.message import add_messages

from langgraph_recursive.state.task_state import NodeName

__all__ = ("said_before", "said_by")

_CHANNEL = "parent_messages"
_ORDER: tuple[NodeName, ...] = ("admit", "decompose", "subtasks", "review", "solve", "aggregate", "verify")


def said_by(entry: CheckpointTuple, *, written: bool) -> list[BaseMessage]:
    """What had been said by a checkpoint.

    Args:
        entry: The checkpoint.
        written: Whether what the node said that ran from it counts.
    """
    said: Any = entry.checkpoint["channel_values"].get(_CHANNEL) or []
    for _, channel, value in entry.pending_writes or ():
        if written and channel == _CHANNEL:
            said = add_messages(said, value)
    return list(said)


def said_before(messages: Sequence[BaseMessage], attempt_id: str, point: NodeName) -> list[BaseMessage]:
    """What had been said when an attempt came to a point, from a later conversation.

    It is cut before the first question of that attempt at this node or a later one. Where the questions do not say
    where they were asked nothing is left, and a new conversation begins.
    """
    asked = [(index, message) for index, message in enumerate(messages) if isinstance(message, HumanMessage)]
    if any("at" not in message.additional_kwargs for _, message in asked):
        return []
    later = _ORDER[_ORDER.index(point) :]
    for index, message in asked:
        if message.additional_kwargs["task"] == attempt_id and message.additional_kwargs["at"] in later:
            return list(messages[:index])
    return list(messages)
