"""Intake: reading what the caller gave, in whatever form, as a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import ValidationError

from langgraph_recursive.state.brief import (
    RootTaskAnchor,
    TaskBrief,
    anchor_of,
    brief_of,
    render_brief,
    same_task,
)
from langgraph_recursive.state.errors import InvalidInputError, invalid_fields
from langgraph_recursive.state.ids import ROOT_ID, check_root_id
from langgraph_recursive.state.task import Task, TaskInput

from .policy import SolvePolicy

__all__ = ("last_human_text", "read_task")

_TALK_CHARS = 8_000


def read_task(
    given: Any,
    messages: Sequence[BaseMessage],
    task_id: str | None,
    policy: SolvePolicy,
    *,
    previous: Task | None = None,
) -> Task:
    """Make a task of what the caller gave.

    Args:
        given: A text, TaskBrief, RootTaskAnchor or Task, also as plain data; None takes the last human message.
        messages: The conversation.
        task_id: The root's id; None is `t`.
        policy: Its limits.
        previous: The last task on this thread; a new run gets the next run number.

    Raises:
        InvalidInputError: There is no task, it is empty, or it breaks a bound.
    """
    value = _typed(given if given is not None else last_human_text(messages))
    if isinstance(value, Task):
        return value.model_copy(update={"owner": None})  # whose it is, the config of the run says, never its input
    if isinstance(value, str):
        _check_text(value, policy.max_spec_chars)
    brief = brief_of(value)
    return Task(
        id=check_root_id(task_id if task_id is not None else ROOT_ID),
        spec=value if isinstance(value, str) else render_brief(brief),
        brief=brief,
        anchor=anchor_of(value),
        run=previous.run + 1 if previous is not None else 1,
        lineage=[same_task(brief.objective)],
        inputs=_said_before(messages),
        gated=isinstance(value, RootTaskAnchor),
    )


def _said_before(messages: Sequence[BaseMessage]) -> list[TaskInput]:
    """Earlier messages of the conversation reach the root as context; over the bound the oldest go (rules.md 12)."""
    last = max((index for index, message in enumerate(messages) if message.type == "human"), default=0)
    said = "\n".join(f"{message.type}: {message.text}" for message in messages[:last] if message.text.strip())
    if not said:
        return []
    return [TaskInput(task_id="conversation", objective="what was said before", text=said[-_TALK_CHARS:])]


def _check_text(text: str, limit: int) -> None:
    if not text.strip():
        raise InvalidInputError("task is empty: say what is to be done", field="task", value=text)
    if len(text) > limit:
        raise InvalidInputError(
            f"task has {len(text)} characters, max_spec_chars is {limit}: shorten it, or raise the limit",
            field="task",
            value=text,
        )


def last_human_text(messages: Sequence[BaseMessage]) -> str | None:
    """The text of the last human message."""
    return next((message.text for message in reversed(messages) if message.type == "human"), None)


def _typed(value: Any) -> str | TaskBrief | RootTaskAnchor | Task:
    if isinstance(value, str | TaskBrief | RootTaskAnchor | Task):
        return value
    if isinstance(value, Mapping):
        kind = Task if "spec" in value else TaskBrief if "reason" in value else RootTaskAnchor
        try:
            return kind.model_validate(dict(value))
        except ValidationError as error:
            raise InvalidInputError(invalid_fields("task", error), field="task", value=value) from error
    if value is None:
        raise InvalidInputError(
            "there is no task: give {'task': ...} or {'messages': [...]} with a human message", field="task"
        )
    raise InvalidInputError(
        f"task is of type {type(value).__name__}: give a str, a TaskBrief or a RootTaskAnchor",
        field="task",
        value=value,
    )
