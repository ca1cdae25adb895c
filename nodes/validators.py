"""Who validates answers independently of the user's verifiers, and of which tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.task import PlannedChild, Task
from langgraph_recursive.state.validation import AGENTIC_SCOPES
from langgraph_recursive.state.validation_policy import ValidationMinimum, ValidationPolicy

if TYPE_CHECKING:
    from .components import Component

__all__ = ("Validators",)


@dataclass(frozen=True)
class Validators:
    """The model validators of one solver.

    Attributes:
        on: Whether anything is validated by a model at all; the `RecursiveTaskSolver` front never does.
        policy: The application's minimum.
        sub_tasks: Validates sub-tasks; None where there is no model.
        root: Validates at the root gate, likewise.
        always: Whether sub-tasks are validated also where their brief selects no scope but `task`.
        gate: Whether every root's answer must pass the gate, also of a plain text.
        with_tools: Whether a validator has tools of its own.
    """

    on: bool = False
    policy: ValidationPolicy = field(default_factory=ValidationPolicy)
    sub_tasks: Component | None = None
    root: Component | None = None
    always: bool = False
    gate: bool = False
    with_tools: bool = False

    @property
    def minimum(self) -> ValidationMinimum | None:
        """What a run that begins now is held to; None if nothing is validated that its task does not ask for."""
        if not (self.always or self.gate):
            return None
        return ValidationMinimum(policy=self.policy, sub_tasks=self.always, gate=self.gate)

    def held_to(self, minimum: ValidationMinimum) -> Validators:
        """Validate at least by what a run began with; what the application asks for now is added.

        Raises:
            InvalidInputError: There is no model that could.
        """
        held = replace(
            self,
            on=True,
            policy=minimum.policy.joined(self.policy),
            always=self.always or minimum.sub_tasks,
            gate=self.gate or minimum.gate,
        )
        if (held.always and held.sub_tasks is None) or (held.gate and held.root is None):
            raise InvalidInputError(
                "this run began with independent validation and is held to it, and there is no model that validates: "
                "give model or validator_model, as when it began",
                field="validator_model",
            )
        return held

    def gates(self, task: Task) -> bool:
        """Whether a task's answer must pass the root gate (rules.md 22).

        A root's must when it was given as an anchor, when a ValidationPolicy or a validator model is given, or when its
        own brief selects more scopes than `task`.
        """
        if not self.on or task.parent_id is not None:
            return False
        return self.gate or task.gated or len(task.brief.validation_scopes) > 1

    def of(self, task: Task) -> Component | None:
        """Who validates a task; None leaves it to the user's verifiers.

        Raises:
            InvalidInputError: The task must be validated by a model, and there is none.
        """
        if not self.on:
            return None
        if task.parent_id is None:
            wanted, found = self.gates(task), self.root
        else:
            wanted, found = self.always or len(task.brief.validation_scopes) > 1, self.sub_tasks
        if wanted and found is None:
            raise InvalidInputError(
                f"task {task.id} must be validated by a model (its brief's validation_scopes, its anchor or the "
                "validation policy say so) and there is none: give model or validator_model",
                field="validator_model",
            )
        return found if wanted else None

    def check(self, task: Task, children: Sequence[PlannedChild] = ()) -> None:
        """Make sure, before anything of it runs, that a task and its planned children can be validated.

        Raises:
            InvalidInputError: One cannot.
        """
        self.of(task)
        for child in children:
            self.of(task.model_copy(update={"id": child.id, "brief": child.brief, "parent_id": task.id}))

    def calls(self, task: Task) -> int:
        """Model calls that one verdict on this task, or on a child of it, may take."""
        scopes = {"task", *self.policy.scopes} if self.always else set()
        if task.parent_id is not None and self.of(task) is not None:
            scopes |= {*task.brief.validation_scopes, *self.policy.scopes}
        rounds = self.policy.max_tool_rounds if self.with_tools else 0
        gate = 1 + rounds if self.gates(task) else 0
        return max(gate, sum(1 + (rounds if scope in AGENTIC_SCOPES else 0) for scope in scopes))
