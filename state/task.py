"""Tasks and what becomes of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ._model import Data, Stored
from .brief import ROOTS_ANCHOR, RootTaskAnchor, TaskBrief
from .errors import ChangedAnchorError, ChangedUserError
from .failure import Failure
from .intervention import Intervention
from .owner import Owner
from .validation_policy import ValidationMinimum
from .verdict import Outcome

__all__ = (
    "Attempt",
    "Halt",
    "HaltType",
    "Partial",
    "PlannedChild",
    "Task",
    "TaskInput",
)

HaltType = Literal[
    "recovery_stalled",
    "recovery_exhausted",
    "validator_error",
    "precheck_failed",
    "task_failed",
    "child_failed",
    "budget_exhausted",
    "timed_out",
    "no_progress",
    "protocol_error",
    "cancelled",
]


class TaskInput(Data):
    """The accepted result of another task that this one may use. Data, never instructions."""

    task_id: str
    objective: str
    text: str


class Task(Stored):
    """One attempt at one unit of work.

    Attributes:
        id: Unique per attempt: `t.2`, then `t.2_fix_1`.
        spec: What the solver reads. For a fix it is built from `root_spec` and all `prior_failures`.
        brief: What the parent handed down.
        anchor: The root's objective, the same for the whole tree; read only. Only the root stores it: a descendant
            gets the root's copy when it runs.
        anchor_hash: Hash of the anchor that the tree was started with. Another anchor is refused.
        depth: Depth in the tree, the root is 0.
        attempt: Number of the attempt, the first is 1; attempt n+1 is fix n.
        parent_id: The parent's attempt; None at the root.
        run: Number of the run on this thread, from 1.
        root_task_ref: Id of attempt 1 of this chain; None before the first fix.
        root_spec: Spec of attempt 1; None before the first fix. Never changed or cut.
        prior_failures: Every failure so far, each with its attempt's number.
        settled: Checks that passed in the last attempt, so that a fix does not undo them.
        start: The node that makes this attempt's answer: a fix keeps its predecessor's shape.
        inputs: Results of dependencies, and on a replan the accepted children's.
        limit: Number of the last attempt this chain may make; None leaves it to the policy.
        revision: Version of the brief; 2 and more were revised by the parent.
        instructions: What the revised brief says, added to the spec of every further fix.
        hints: What persons said after a halt that helps, added to the spec of every further fix.
        model: Name of the model that a person chose for this task and its sub-tasks; empty for the solver's own.
        lineage: Keys (`same_task`) of the objectives of the ancestors and of this task, for finding repeats.
        gated: Whether the root was given as an anchor, which its answer must be validated against.
        minimum: What the tree is validated by at least. Fixed at the root when the run begins, which alone stores it.
        owner: Tree and user, for artifacts and context snapshots. Fixed at the root, which alone stores it.
    """

    id: str
    spec: str
    brief: TaskBrief
    anchor: RootTaskAnchor = ROOTS_ANCHOR
    anchor_hash: str = ""
    depth: int = 0
    attempt: int = 1
    parent_id: str | None = None
    run: int = 1
    root_task_ref: str | None = None
    root_spec: str | None = None
    prior_failures: list[Failure] = Field(default_factory=list)
    settled: list[str] = Field(default_factory=list)
    start: Literal["decompose", "solve", "aggregate"] = "decompose"
    inputs: list[TaskInput] = Field(default_factory=list)
    limit: int | None = None
    revision: int = 1
    instructions: str = ""
    hints: list[str] = Field(default_factory=list)
    model: str = ""
    lineage: list[str] = Field(default_factory=list)
    gated: bool = False
    minimum: ValidationMinimum | None = None
    owner: Owner | None = None

    def __str__(self) -> str:
        return self.spec

    @property
    def root_ref(self) -> str:
        """Id of attempt 1 of this chain."""
        return self.root_task_ref or self.id

    @property
    def intent(self) -> str:
        """The original spec of this chain."""
        return self.root_spec if self.root_spec is not None else self.spec

    def under(self, anchor: RootTaskAnchor) -> Task:
        """Give the attempt the root's copy of the anchor, and fix its hash if that is not done yet.

        Raises:
            ChangedAnchorError: It is not the anchor that the tree was started with.
        """
        if self.anchor_hash and self.anchor_hash != anchor.hash:
            raise ChangedAnchorError(
                f"task {self.id} was started under another anchor: the objective, criteria and constraints of a tree "
                "never change; start a new thread for another task",
                field="anchor",
                value=anchor.objective,
            )
        return self.model_copy(update={"anchor": anchor, "anchor_hash": anchor.hash})

    def owned_by(self, caller: Owner) -> Task:
        """Fix whose tree this is, if that is not done yet.

        Raises:
            ChangedUserError: It was started by another user.
        """
        if self.owner is None:
            return self.model_copy(update={"owner": caller})
        if caller.user_id and caller.user_id != self.owner.user_id:
            raise ChangedUserError(
                f"task {self.id} was started by another user: resume it as that user", field="user_id"
            )
        return self


class Attempt(Data):
    """How one attempt ended.

    Attributes:
        id: The attempt's task id.
        attempt: Its number.
        outcome: The verdict; `error` when it could not be verified, `none` when nothing was there to verify.
        start: Which node made the answer.
        failures: What it did not pass.
        halt: Why the chain stopped here, if it did.
        rewound: Whether a rewind undid it: it is kept for the record, and counts and teaches nothing.
        intervention: What a person decided after the halt; a halt that was let stand may be decided on again, and then
            it is the last decision, while the traces hold both.
    """

    id: str
    attempt: int
    outcome: Outcome | Literal["none"]
    start: Literal["decompose", "solve", "aggregate"] = "decompose"
    failures: list[Failure] = Field(default_factory=list)
    halt: HaltType | None = None
    rewound: bool = False
    intervention: Intervention | None = None


class Halt(Data):
    """Why a task stopped without an accepted answer (rules.md 7).

    Attributes:
        type: The kind of halt.
        severity: Always `blocker`.
        task_id: The attempt that stopped.
        attempt: Its number.
        detail: In words, with what to do where there is something to do.
        error_type: Class name of the exception behind it, if there was one.
        child: The halt of the child behind a `child_failed`.
        left_by: Who was asked about it, or about a halt behind it, and let it stand.
    """

    type: HaltType
    severity: Literal["blocker"] = "blocker"
    task_id: str
    attempt: int
    detail: str
    error_type: str | None = None
    child: Halt | None = None
    left_by: str | None = None

    @property
    def cuts_off(self) -> bool:
        """Whether a limit ended the task, and not what it made: it can go on where it was."""
        return self.type in ("budget_exhausted", "timed_out", "cancelled")


class Partial(Data):
    """A finished piece of a task that did not succeed as a whole.

    Attributes:
        task_id: The attempt that made it.
        task: Its objective.
        text: What it made.
        verified: Whether it was really checked and passed.
    """

    task_id: str
    task: str
    text: str
    verified: bool = False

    def __str__(self) -> str:
        return self.text


class PlannedChild(Data):
    """A child of this attempt: its place in the plan.

    Attributes:
        id: The child's id.
        brief: What it is handed.
        depends_on: Ids of the siblings whose results it needs.
    """

    id: str
    brief: TaskBrief
    depends_on: list[str] = Field(default_factory=list)
