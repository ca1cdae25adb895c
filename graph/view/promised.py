"""What events promise: drawings read from files that anything may have written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.task import HaltType

__all__ = ("as_event", "checked")

Number = Annotated[float, Field(allow_inf_nan=False)]


class _Promise(BaseModel):
    model_config = ConfigDict(strict=True)


class _Event(_Promise):
    type: str
    run_id: str = ""
    task_id: str
    parent_id: str | None = None
    attempt: int
    depth: int = 0
    time: Number
    duration_ms: Number | None = None
    usage: dict[str, Number] | None = None
    data: dict[str, Any]


class _Started(_Promise):
    objective: str
    start: str


class _Call(_Promise):
    call: str


class _Decomposed(_Promise):
    children: list[Annotated[list[str], Field(min_length=2, max_length=2)]]


class _Answered(_Promise):
    answer: str


class _Verified(_Promise):
    outcome: str
    issues: list[str]


class _Goal(_Promise):
    goal: str


class _Recovering(_Promise):
    fix: str


class _Rewound(_Promise):
    undone: list[str]


class _Accepted(_Promise):
    verified: bool
    answer: str


class _Halted(_Promise):
    halt: HaltType
    detail: str


_DATA: dict[str, type[_Promise]] = {
    "task_started": _Started,
    "call_finished": _Call,
    "decomposed": _Decomposed,
    "solved": _Answered,
    "aggregated": _Answered,
    "verified": _Verified,
    "goal_changed": _Goal,
    "recovering": _Recovering,
    "rewound": _Rewound,
    "accepted": _Accepted,
    "halted": _Halted,
}


def as_event(given: Any) -> dict[str, Any] | None:
    """Give an event with all its fields; None for what is no event."""
    try:
        known = _Event.model_validate(given)
    except ValidationError:
        return None
    return {**known.model_dump(exclude={"data"}), **given}


def checked(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Make sure that events hold what their types promise. Types that are not known promise nothing.

    Raises:
        InvalidInputError: One does not.
    """
    return [_checked(number, event) for number, event in enumerate(events, 1)]


def _checked(number: int, given: Mapping[str, Any]) -> dict[str, Any]:
    event = as_event(given)
    if event is None:
        raise InvalidInputError(f"event {number} is no event", field="events", value=given)
    promise = _DATA.get(event["type"])
    try:
        if promise is not None:
            promise.model_validate(event["data"])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidInputError(
            f"event {number} is not as its type promises: {place}: {first['msg']}", field="events", value=given
        ) from error
    return event
