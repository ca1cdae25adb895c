"""TaskState: everything that one task's graph carries from node to node."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ._model import Stored
from .answer import Answer
from .report import TaskReport
from .review import TaskReview
from .task import Attempt, ChildResult, Halt, Partial, PlannedChild, Task
from .trace import SolveTrace
from .usage import Usage
from .verdict import ValidationResult

__all__ = ("TaskState",)


class TaskState(Stored):
    """The progress of one task, in one channel.

    Each task has its own, so a checkpoint never holds the whole tree.

    Attributes:
        current: The attempt at work; None only before the first admit.
        plan: The children of this attempt.
        children: What came back from them, by child id.
        reviews: The parent's decisions on them.
        next_child: Number of the next child; within an attempt it only goes up.
        replans: Replans of this attempt.
        replanning: Whether the children without an accepted answer are being planned anew.
        made_by: The node that made the answer at hand.
        report: The report of this attempt.
        verdict: The verdict on it.
        attempts: The attempts that have ended.
        best: The rejected answer with the fewest blockers.
        best_failures: How many blockers it has.
        halt: Why the task stopped without an accepted answer.
        partial: What it finished all the same.
        log: What happened in this run, without the task's text.
        spent: What this task itself has spent in this run, its children not counted.
        elapsed: Seconds it has taken in this run.
        earlier: What the runs on this thread that ended before have spent, the whole tree counted.
    """

    current: Task | None = None
    plan: list[PlannedChild] = Field(default_factory=list)
    children: dict[str, ChildResult] = Field(default_factory=dict)
    reviews: list[TaskReview] = Field(default_factory=list)
    next_child: int = 1
    replans: int = 0
    replanning: bool = False
    made_by: Literal["solve", "aggregate"] = "solve"
    report: TaskReport | None = None
    verdict: ValidationResult | None = None
    attempts: list[Attempt] = Field(default_factory=list)
    best: Partial | None = None
    best_failures: int = 0
    halt: Halt | None = None
    partial: list[Partial] = Field(default_factory=list)
    log: list[SolveTrace] = Field(default_factory=list)
    spent: Usage = Field(default_factory=Usage)
    elapsed: float = 0.0
    earlier: Usage = Field(default_factory=Usage)

    @property
    def attempt(self) -> Task:
        """The attempt at work.

        Raises:
            RuntimeError: The task has not been admitted.
        """
        if self.current is None:
            raise RuntimeError("the task has not been admitted")
        return self.current

    @property
    def answered(self) -> TaskReport:
        """The report of the attempt at work.

        Raises:
            RuntimeError: There is none yet.
        """
        if self.report is None:
            raise RuntimeError("the task has no report")
        return self.report

    @property
    def accepted(self) -> list[Answer]:
        """The accepted children's answers, in plan order."""
        return [
            Answer(self.children[child.id].report, task=child.brief.objective)
            for child in self.plan
            if child.id in self.children and self.children[child.id].passed
        ]

    @property
    def missing(self) -> list[str]:
        """Ids of planned children without an accepted answer."""
        return [child.id for child in self.plan if child.id not in self.children or not self.children[child.id].passed]

    @property
    def ended(self) -> bool:
        """Whether the task has ended, with an accepted answer or a halt."""
        return self.halt is not None or (self.verdict is not None and self.verdict.outcome == "passed")
