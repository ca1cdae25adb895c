"""Events: what a run tells while it runs, as flat JSON."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

__all__ = ("Event", "EventType")

EventType = Literal[
    "task_started",
    "decomposed",
    "call_finished",
    "solved",
    "aggregated",
    "validated",
    "verified",
    "reviewed",
    "goal_changed",
    "recovering",
    "rewound",
    "accepted",
    "halted",
    "goal_submitted",
    "iteration_completed",
    "goal_achieved",
    "goal_failed",
    "goal_exhausted",
    "goal_timed_out",
]


class Event(TypedDict):
    """One event.

    `duration_ms` and `usage` are of the call or task it reports, None where it has none. `data` depends on the type;
    texts in it are cut, so that an event stays small.
    """

    type: EventType
    run_id: str
    task_id: str
    parent_id: str | None
    attempt: int
    depth: int
    time: float
    duration_ms: int | None
    usage: dict[str, int] | None
    data: dict[str, Any]
