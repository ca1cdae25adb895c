"""Events: what a run tells while it runs, as flat JSON.

An event is small: its texts are cut, and what it tells of a check is a few hundred characters. Its keys are strings,
its numbers finite and of at most 64 bits. A resumed run may tell again what it had told before. Which fields `data` has
depends on the type; versions to come may add types and fields, so a reader passes over what it does not know.

| type | told when | `data` | `duration_ms` and `usage` of |
|---|---|---|---|
| `task_created` | a sub-task was planned; the event is the sub-task's own | TaskCreated | |
| `task_started` | an attempt starts | TaskStarted | |
| `decomposed` | the task was split | Decomposed | the node |
| `call_queued` | a component call has to wait for a slot | CallQueued | |
| `call_started` | a component call got its slot | CallStarted | |
| `call_finished` | it has ended, whatever came of it | CallFinished | the call |
| `interrupted` | a call asks a person | Interrupted | |
| `solved`, `aggregated` | an answer is there | Solved, Aggregated | the node |
| `validated` | a model validator has judged one scope | Validated | |
| `verified` | the attempt has its verdict | Verified | the node |
| `reviewed` | the parent has decided on a child | Reviewed | the node |
| `goal_changed` | the task is in another goal state (protocol) | GoalChanged | |
| `stalled` | an attempt failed as an earlier one did | Stalled | |
| `recovering` | a further attempt was made | Recovering | |
| `rewound` | the task goes on where a rewind put it | Rewound | |
| `intervened` | a person has decided about a halt | Intervened | |
| `budget_spent` | a limit of the budget stands against going on, once for each limit | BudgetSpent | |
| `accepted`, `halted` | the task has ended | Accepted, Halted | the task; its usage without its sub-tasks' |
| `goal_submitted`, `iteration_completed`, `goal_achieved`, `goal_failed`, `goal_exhausted`, `goal_timed_out` | the \
simple agent has come so far | Goal | its time, so far |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, FiniteFloat
from typing_extensions import TypedDict  # pydantic takes typing's own only from Python 3.12 on

from .task import HaltType

__all__ = ("EVENT_DATA", "Event", "EventType", "Limits")

EventType = Literal[
    "task_created",
    "task_started",
    "decomposed",
    "call_queued",
    "call_started",
    "call_finished",
    "interrupted",
    "solved",
    "aggregated",
    "validated",
    "verified",
    "reviewed",
    "goal_changed",
    "stalled",
    "recovering",
    "rewound",
    "intervened",
    "budget_spent",
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

    Attributes:
        type: What happened.
        run_id: The run in this process; a resume has another one.
        task_id: The attempt it happened to.
        parent_id: The attempt that planned the task; None at the root.
        attempt: Number of the attempt, from 1.
        depth: Depth in the tree, the root is 0.
        time: Seconds since the epoch.
        duration_ms: What it reports took so long, in milliseconds; None where it reports nothing that takes time.
        usage: What it reports spent so much (the fields of Usage), likewise.
        data: What belongs to the type.
    """

    type: EventType
    run_id: str
    task_id: str
    parent_id: str | None
    attempt: int
    depth: int
    time: float
    duration_ms: int | None
    usage: dict[str, int | float] | None
    data: dict[str, Any]


Limits = dict[str, Annotated[list[FiniteFloat], Field(min_length=2, max_length=2)]]
"""Spent and allowed by the whole run so far, by the field of Budget: `{"max_llm_calls": [3, 200]}`. Limits that are not
set are not in it."""


class TaskCreated(TypedDict):
    """`depends_on`: ids of the siblings whose results the sub-task needs."""

    objective: str
    depends_on: list[str]


class TaskStarted(TypedDict):
    """`start`: the node that makes this attempt's answer. `max_attempts`: how many the task may make."""

    objective: str
    start: str
    max_attempts: NotRequired[int]


class Decomposed(TypedDict):
    """`children`: id and objective of each."""

    children: list[Annotated[list[str], Field(min_length=2, max_length=2)]]


class CallQueued(TypedDict):
    """`call`: the component's role. `id`: the call's, the same on each try and in all events of it."""

    call: str
    id: str


class CallStarted(CallQueued):
    """`tries`: which try it is, from 1. `waited_ms`: how long it waited for its slot."""

    tries: int
    waited_ms: int


class CallFinished(TypedDict):
    """The end of a call, or of one try of it.

    Attributes:
        call: The component's role.
        id: The call's.
        tries: Which try it was, from 1.
        error: Class of the exception that it ended with, if it did.
        asks: Whether it stopped to ask a person; it is made again with the answer, and counts then.
        budget: What the run has spent with it.
    """

    call: str
    id: NotRequired[str]
    tries: NotRequired[int]
    error: NotRequired[str | None]
    asks: NotRequired[bool]
    budget: NotRequired[Limits]


class Interrupted(TypedDict):
    """A question to a person.

    Attributes:
        id: The interrupt's, for `Command(resume={id: answer})`; None where a nested graph keeps it to itself.
        value: What is asked; what is no text as JSON.
    """

    id: str | None
    value: str


class Solved(TypedDict):
    """`answer`: its beginning."""

    answer: str


class Aggregated(Solved):
    """`missing`: ids of the sub-tasks whose results are not in it."""

    missing: NotRequired[list[str]]


class Validated(TypedDict):
    """`outcome`: what the validator's checks of the scope come to."""

    scope: str
    outcome: str


class ToldEvidence(TypedDict):
    """The fields of Evidence that are not at their defaults."""

    label: NotRequired[str]
    head: NotRequired[str]
    tail: NotRequired[str]
    size: NotRequired[int]
    sha256: NotRequired[str]
    truncated: NotRequired[bool]


class ToldFailure(TypedDict):
    """The fields of Failure that are not at their defaults."""

    attempt: int
    validator_id: str
    severity: NotRequired[Literal["blocker", "warning"]]
    justification: NotRequired[str]
    task_id: NotRequired[str]
    check_id: NotRequired[str]
    failure_code: NotRequired[str | None]
    evidence: NotRequired[list[ToldEvidence]]


class Verified(TypedDict):
    """A verdict with enough of its checks to see why.

    Attributes:
        outcome: All checks together.
        issues: What did not pass, each cut to 80 characters.
        failures: The first 20 of it, with at most 400 characters of justification each, and as many of evidence.
        passed: Validator, check and justification of the first 20 checks that passed.
    """

    outcome: str
    issues: list[str]
    failures: NotRequired[list[ToldFailure]]
    passed: NotRequired[list[Annotated[list[str], Field(min_length=3, max_length=3)]]]


class Reviewed(TypedDict):
    """`child`: the attempt that was decided on."""

    child: str
    decision: str
    reason: str


class GoalChanged(TypedDict):
    """`goal`: a GoalStatus."""

    goal: str


class Stalled(TypedDict):
    """`repeats`: id of the attempt that failed in the same way."""

    repeats: str


class Recovering(TypedDict):
    """`fix`: id of the next attempt. `failures`: how many it is told of."""

    fix: str
    failures: NotRequired[int]


class Rewound(TypedDict):
    """`at`: the node it goes on at. `undone`: ids of the attempts that do not count any more."""

    at: NotRequired[str]
    undone: list[str]


class Intervened(TypedDict):
    """What of Intervention was given, texts cut to 80 characters. `fix`: id of the next attempt, with `retry`."""

    decision: str
    by: str
    fix: str | None
    reason: NotRequired[str]
    spec: NotRequired[str]
    hint: NotRequired[str]
    limits: NotRequired[dict[str, Any]]
    model: NotRequired[str]
    answer: NotRequired[str]


class BudgetSpent(TypedDict):
    """`limit`: the field of Budget. `detail`: in words. `budget`: what the run has spent."""

    limit: str
    detail: str
    budget: Limits


class Accepted(TypedDict):
    """`verified`: whether something real has checked the answer."""

    verified: bool
    answer: str


class Halted(TypedDict):
    """`halt`: the type of the halt. `detail`: in words."""

    halt: HaltType
    detail: str


class Goal(TypedDict):
    """The fields of GoalState, texts cut to 1,000 characters."""

    goal: str
    iteration: int
    solution: str | None
    status: str
    reason: str


EVENT_DATA: Mapping[EventType, type[Any]] = {
    "task_created": TaskCreated,
    "task_started": TaskStarted,
    "decomposed": Decomposed,
    "call_queued": CallQueued,
    "call_started": CallStarted,
    "call_finished": CallFinished,
    "interrupted": Interrupted,
    "solved": Solved,
    "aggregated": Aggregated,
    "validated": Validated,
    "verified": Verified,
    "reviewed": Reviewed,
    "goal_changed": GoalChanged,
    "stalled": Stalled,
    "recovering": Recovering,
    "rewound": Rewound,
    "intervened": Intervened,
    "budget_spent": BudgetSpent,
    "accepted": Accepted,
    "halted": Halted,
    "goal_submitted": Goal,
    "iteration_completed": Goal,
    "goal_achieved": Goal,
    "goal_failed": Goal,
    "goal_exhausted": Goal,
    "goal_timed_out": Goal,
}
"""What `data` holds, by type. Fields that an older version did not tell are not required."""
