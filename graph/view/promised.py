"""What events promise: drawings are made from files that anything may have written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.event import EVENT_DATA, EventType

__all__ = ("as_event", "checked", "last_run_events", "starts_run")

Number = Annotated[float, Field(allow_inf_nan=False)]


class _Event(BaseModel):
    model_config = ConfigDict(strict=True)

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


@cache
def _promise(kind: str) -> TypeAdapter[Any] | None:
    data = EVENT_DATA.get(cast(EventType, kind))
    return None if data is None else TypeAdapter(data)


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
    promise = _promise(event["type"])
    try:
        if promise is not None:
            promise.validate_python(event["data"], strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidInputError(
            f"event {number} is not as its type promises: {place}: {first['msg']}", field="events", value=given
        ) from error
    return event


def starts_run(event: Mapping[str, Any], seen: str | None) -> bool:
    """Whether an event is the first of a new run, and not of the run `seen` last or of a resume."""
    first = event["type"] in ("task_started", "goal_submitted") and event["parent_id"] is None
    return bool(first and event["attempt"] == 1 and event["run_id"] != seen)


def last_run_events(events: Iterable[Mapping[str, Any]], run_id: str | None = None) -> list[dict[str, Any]]:
    """The events of one run: the one named, or else of the last that was started, its resumes included.

    Raises:
        InvalidInputError: An event lacks what its type promises.
    """
    chosen = [event for event in checked(events) if run_id is None or event["run_id"] == run_id]
    first, seen = 0, None
    for index, event in enumerate(chosen):
        if starts_run(event, seen):
            first = index
        seen = event["run_id"]
    return chosen[first:]
