"""TaskState: everything that one task's graph carries from node to node."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ._model import Data, Stored
from .answer import Answer
from .brief import TaskBrief
from .context_reads import ContextRead
from .errors import ChangedBriefError
from .intervention import Intervention
from .report import TaskReport
from .review import TaskReview
from .task import Attempt, Halt, Partial, PlannedChild, Task
from .trace import SolveTrace
from .usage import Usage
from .verdict import ValidationResult

__all__ = ("ChildResult", "NextAction", "NodeName", "TaskState")

NodeName = Literal["admit", "decompose", "subtasks", "review", "solve", "aggregate", "verify", "recovery", "intervene"]


class ChildResult(Data):
    """What came back from a child.

    Attributes:
        id: The child's id in the plan.
        report: Its report; `child_task_id` is its last attempt.
        verdict: The verdict on that attempt.
        attempts: How many attempts it took.
        halt: Why it stopped, if it has no accepted answer.
        partial: What it finished all the same.
        left: Where it left off, if the parent may let it go on (REVISE_CHILD, or a dependency that is revised).
    """

    id: str
    report: TaskReport
    verdict: ValidationResult
    attempts: int = 1
    halt: Halt | None = None
    partial: list[Partial] = Field(default_factory=list)
    left: TaskState | None = None

    @property
    def passed(self) -> bool:
        """Whether the child has an accepted answer."""
        return self.halt is None and self.verdict.outcome == "passed"


class NextAction(Data):
    """Something a review approved that has not run yet (protocol, next_actions).

    Attributes:
        kind: `create` a child, `revise` one, or `rerun` one whose dependency is revised.
        child_id: The child; a new one has its place and number from the approval on.
        brief: The approved brief: what runs is this, byte for byte.
        brief_hash: Its hash when it was approved.
        reason: Why, in the reviewer's words.
        left: Where a child that goes on left off.
        sequence: Order among the reports, reviews and actions of one task.
    """

    kind: Literal["create", "revise", "rerun"]
    child_id: str
    brief: TaskBrief | None = None
    brief_hash: str = ""
    reason: str = ""
    left: TaskState | None = None
    sequence: int = 0

    def launches(self, brief: TaskBrief) -> None:
        """Make sure that a child's brief is the approved one, byte for byte after normalization.

        Raises:
            ChangedBriefError: It is another one.
        """
        if self.brief_hash and brief.hash != self.brief_hash:
            raise ChangedBriefError(
                f"child {self.child_id} would run on another brief than the approved one: "
                "do not resume this thread, start a new one",
                field="brief",
                value=brief.objective,
            )


class TaskState(Stored):
    """The progress of one task, in one channel.

    Each task has its own, so a checkpoint never holds the whole tree.

    Attributes:
        current: The attempt at work; None only before the first admit.
        plan: The children of this attempt.
        children: What came back from them, by child id.
        reviews: The parent's decisions on them.
        sequence: The last number given to a report, review or action; it only goes up.
        next_actions: What reviews approved and has not run yet.
        pending_replans: Children for which REPLAN_CURRENT was decided, held until the batch is reviewed.
        out_of_budget: The limit that keeps children from running; what is there is still aggregated.
        reviewing: Whether another report can be decided on.
        failed_by: The child on which FAIL was decided.
        report_history: Reports of children that were revised since.
        revisions: How often each child was revised.
        next_child: Number of the next child; within an attempt it only goes up.
        quota_from: Number of the first child of the present quota; a replan opens a new one.
        replans: Replans of this attempt.
        replanning: Whether the children without an accepted answer are being planned anew.
        made_by: The node that made the answer at hand.
        report: The report of this attempt.
        verdict: The verdict on it.
        attempts: The attempts that have ended.
        brief_history: Earlier versions of the brief.
        context_reads: What all attempts have read of context references; it only grows.
        gate_attempts: How often the root gate has validated an answer in this run.
        best: The rejected answer with the fewest blockers.
        best_failures: How many blockers it has.
        halt: Why the task stopped without an accepted answer.
        asking: Whether a person is asked what becomes of the halt.
        intervention: What a person has decided about the halt and is to be carried out.
        partial: What it finished all the same.
        log: What happened in this run, without the task's text.
        spent: What this task itself has spent in this run, its children not counted.
        elapsed: Seconds it has taken in this run.
        earlier: What the runs on this thread that ended before have spent, the whole tree counted.
        resume_at: The node at which a task goes on that a rewind put there; None as soon as that node has run.
        going_on: Where children without a result go on, by child id, after a rewind.
        said: The conversation of an `agent_parent` about a task that has ended, as plain data, for when it goes on.
    """

    current: Task | None = None
    plan: list[PlannedChild] = Field(default_factory=list)
    children: dict[str, ChildResult] = Field(default_factory=dict)
    reviews: list[TaskReview] = Field(default_factory=list)
    sequence: int = 0
    next_actions: list[NextAction] = Field(default_factory=list)
    pending_replans: list[str] = Field(default_factory=list)
    out_of_budget: str | None = None
    reviewing: bool = False
    failed_by: str | None = None
    report_history: list[TaskReport] = Field(default_factory=list)
    revisions: dict[str, int] = Field(default_factory=dict)
    next_child: int = 1
    quota_from: int = 1
    replans: int = 0
    replanning: bool = False
    made_by: Literal["solve", "aggregate"] = "solve"
    report: TaskReport | None = None
    verdict: ValidationResult | None = None
    attempts: list[Attempt] = Field(default_factory=list)
    brief_history: list[TaskBrief] = Field(default_factory=list)
    context_reads: list[ContextRead] = Field(default_factory=list)
    gate_attempts: int = 0
    best: Partial | None = None
    best_failures: int = 0
    halt: Halt | None = None
    asking: bool = False
    intervention: Intervention | None = None
    partial: list[Partial] = Field(default_factory=list)
    log: list[SolveTrace] = Field(default_factory=list)
    spent: Usage = Field(default_factory=Usage)
    elapsed: float = 0.0
    earlier: Usage = Field(default_factory=Usage)
    resume_at: NodeName | None = None
    going_on: dict[str, TaskState] = Field(default_factory=dict)
    said: list[dict[str, Any]] = Field(default_factory=list)

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
    def standing(self) -> list[Attempt]:
        """The attempts that no rewind undid."""
        return [attempt for attempt in self.attempts if not attempt.rewound]

    @property
    def last_number(self) -> int:
        """The highest attempt number of this chain, rewound attempts included: numbers never go back."""
        return max([self.attempt.attempt, *(attempt.attempt for attempt in self.attempts)])

    @property
    def open_actions(self) -> bool:
        """Whether something approved has not run yet. A rerun only waits for what it depends on."""
        return any(action.kind != "rerun" for action in self.next_actions)

    @property
    def halted(self) -> bool:
        """Whether the task has ended without an accepted answer; while a person is asked that is open."""
        return self.halt is not None and not self.asking

    @property
    def ended(self) -> bool:
        """Whether the task has ended, with an accepted answer or a halt.

        An answer that passed when the budget had run out is only a part: that is a halt, which a person may be asked
        about.
        """
        if self.halt is not None:
            return self.halted
        return self.verdict is not None and self.verdict.outcome == "passed"


ChildResult.model_rebuild()
NextAction.model_rebuild()
