"""What is shown of a task and of each of its attempts, whichever source it was read from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.task import Halt

from .safe import one_line, visible
from .words import ENDED, WORDS, Status, check_name, clock, counted, spent

__all__ = ("AttemptView", "TaskView", "columns", "complaint", "numbers", "summary_of")


@dataclass
class AttemptView:
    """One attempt.

    Attributes:
        id: Its task id.
        number: From 1.
        outcome: Its verdict; `none` when there is none.
        made_by: The node that made the answer, as far as known.
        answer: The answer, or its beginning; empty when unknown.
        failures: What it did not pass. From events with the beginning of the evidence, from traces only in words.
        whole: Whether the failures are told whole.
        passed: What it passed: name of the check and justification. Checkpoints keep it of the last attempt only.
        repeats: Id of the attempt that failed in the same way, where the run halted for that.
        halt: Type of the halt that it ended in.
        decided: What a person decided about the halt, in words.
        rewound: Whether a rewind undid it.
        next: Id of the fix that followed.
    """

    id: str
    number: int
    outcome: str = "none"
    made_by: str = ""
    answer: str = ""
    failures: list[Failure] = field(default_factory=list)
    whole: bool = True
    passed: list[tuple[str, str]] = field(default_factory=list)
    repeats: str | None = None
    halt: str | None = None
    decided: str = ""
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
        return f"{word}, taken back" if self.rewound else word


@dataclass
class TaskView:
    """One task with all its attempts.

    Attributes:
        id: Id of its first attempt.
        parent: Id of the parent's attempt that planned it.
        objective: What it is to do.
        status: How it stands.
        attempts: Its attempts, by number.
        limit: How many it may make, as far as known.
        halt: Why it stopped without an accepted answer.
        answer: The accepted answer, or its beginning.
        calls: Component calls of the task itself; None when unknown.
        tokens: Tokens of the task itself, likewise.
        started: When, in seconds since the epoch; None when unknown.
        duration: Seconds it took, its children included; None when unknown or not over.
        depends_on: Ids of the siblings whose results it needs, as far as known.
        under_way: Its calls under way, by their ids: whether each has its slot.
        asks: What its calls ask a person.
        children: Its sub-tasks, those of plans given up included.
        given_up: Whether it belongs to a plan that was given up.
    """

    id: str
    parent: str | None = None
    objective: str = ""
    status: Status = "waiting"
    attempts: list[AttemptView] = field(default_factory=list)
    limit: int | None = None
    halt: Halt | None = None
    answer: str = ""
    calls: int | None = None
    tokens: int | None = None
    started: float | None = None
    duration: float | None = None
    depends_on: list[str] = field(default_factory=list)
    under_way: dict[str, bool] = field(default_factory=dict)
    asks: list[str] = field(default_factory=list)
    children: list[TaskView] = field(default_factory=list)
    given_up: bool = False

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.status in ENDED

    @property
    def queued(self) -> bool:
        """Whether all it does is wait for a slot."""
        return not self.over and bool(self.under_way) and not any(self.under_way.values())

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


def columns(task: TaskView, now: float | None = None) -> list[str]:
    """How a task stands, its attempts, calls, tokens and time; empty where there is nothing to tell.

    Args:
        task: The task.
        now: Seconds since the epoch: what is under way shows how long it has taken by then.
    """
    word = "waits for a slot" if task.queued else WORDS.get(task.status, task.status)
    if task.given_up:
        word += ", plan given up"
    if task.status == "waiting":
        return [word, "", "", "", ""]
    taken = task.duration
    if taken is None and now is not None and task.started is not None and not task.over:
        taken = now - task.started
    return [
        word,
        _tried(task),
        "" if task.calls is None else counted(task.calls, "call"),
        counted(task.tokens, "token") if task.tokens else "",
        clock(taken),
    ]


def _tried(task: TaskView) -> str:
    number = len(task.attempts)
    if number < 2:
        return ""
    return counted(number, "attempt") if task.over or task.limit is None else f"attempt {number}/{task.limit}"


def numbers(task: TaskView) -> str:
    """What `columns` tell, in one line."""
    return " · ".join(filter(None, columns(task)))


def summary_of(roots: Iterable[TaskView], budget: Mapping[str, Sequence[float]]) -> list[str]:
    """A whole run in a few numbers.

    Args:
        roots: Its topmost tasks.
        budget: What it has spent of its limits.
    """
    tasks = [task for root in roots for task in root.walk()]
    counting = [task for task in tasks if not task.given_up]
    done = sum(task.status in ("checked", "unchecked") for task in counting)
    parts = [f"{done} of {counted(len(counting), 'task')} done"]
    if all(task.calls is not None for task in tasks):
        parts.append(counted(sum(task.calls or 0 for task in tasks), "call"))
    if tokens := sum(task.tokens or 0 for task in tasks):
        parts.append(counted(tokens, "token"))
    if fixes := sum(len(task.attempts) - 1 for task in tasks if task.attempts):
        parts.append(counted(fixes, "fix", "fixes"))
    return [*parts, *spent(budget)]
