"""What is shown of a task and of each of its attempts, whichever source it was read from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.task import Halt

from .rows import Status
from .safe import one_line, visible
from .words import WORDS, check_name, clock, counted

__all__ = ("AttemptView", "TaskView", "complaint", "numbers")


@dataclass
class AttemptView:
    """One attempt.

    Attributes:
        id: Its task id.
        number: From 1.
        outcome: Its verdict; `none` when there is none.
        made_by: The node that made the answer, as far as known.
        answer: The answer, or its beginning; empty when unknown.
        failures: What it did not pass. From events and traces only in words, from checkpoints with the evidence.
        passed: What it passed: name of the check and justification. Checkpoints keep it of the last attempt only.
        halt: Type of the halt that it ended in.
        rewound: Whether a rewind undid it.
        next: Id of the fix that followed.
    """

    id: str
    number: int
    outcome: str = "none"
    made_by: str = ""
    answer: str = ""
    failures: list[Failure] = field(default_factory=list)
    passed: list[tuple[str, str]] = field(default_factory=list)
    halt: str | None = None
    rewound: bool = False
    next: str | None = None

    @property
    def blockers(self) -> list[Failure]:
        """What made it be rejected."""
        return [failure for failure in self.failures if failure.severity == "blocker"]

    @property
    def verdict(self) -> str:
        """Its verdict in words."""
        word = {"none": "no verdict", "error": "could not be checked"}.get(self.outcome, self.outcome)
        return f"{word}, taken back by a rewind" if self.rewound else word


@dataclass
class TaskView:
    """One task with all its attempts.

    Attributes:
        id: Id of its first attempt.
        parent: Id of the parent's attempt that planned it.
        objective: What it is to do.
        status: How it stands.
        attempts: Its attempts, by number.
        halt: Why it stopped without an accepted answer.
        answer: The accepted answer, or its beginning.
        calls: Component calls of the task itself; None when unknown.
        tokens: Tokens of the task itself, likewise.
        duration: Seconds it took, its children included, likewise.
        children: Its sub-tasks, those of plans given up included.
        given_up: Whether it belongs to a plan that was given up.
    """

    id: str
    parent: str | None = None
    objective: str = ""
    status: Status = "waiting"
    attempts: list[AttemptView] = field(default_factory=list)
    halt: Halt | None = None
    answer: str = ""
    calls: int | None = None
    tokens: int | None = None
    duration: float | None = None
    children: list[TaskView] = field(default_factory=list)
    given_up: bool = False

    @property
    def verdict(self) -> str:
        """The verdict on its last attempt; `none` when there is none."""
        return self.attempts[-1].outcome if self.attempts else "none"

    @property
    def retried(self) -> list[str]:
        """Why it was tried again, once for each attempt that was rejected and followed by another."""
        return [
            f"attempt {attempt.number}: {'; '.join(map(complaint, attempt.blockers)) or attempt.verdict}"
            for attempt in self.attempts[:-1]
        ]

    def walk(self) -> Iterator[TaskView]:
        """This task and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def complaint(failure: Failure) -> str:
    """What an attempt did not pass, in one line."""
    name = check_name(failure.validator_id, failure.check_id)
    lines = visible(failure.justification).strip().split("\n")
    return ": ".join(part for part in (name, one_line(lines[0])) if part) or "failed without a reason"


def numbers(task: TaskView) -> list[str]:
    """How a task stands, and what it took, as far as known."""
    if task.status == "waiting":
        return ["not started"]
    parts = [WORDS.get(task.status, task.status), "plan given up" if task.given_up else ""]
    parts.append(counted(len(task.attempts), "attempt") if len(task.attempts) > 1 else "")
    parts.append(counted(task.calls, "call") if task.calls is not None else "")
    parts.append(counted(task.tokens, "token") if task.tokens else "")
    parts.append(clock(task.duration))
    return [part for part in parts if part]
