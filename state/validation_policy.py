"""The validation policy: what the application asks for at least, and how a run keeps it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from ._model import Data, FilledText, Given, canonical_json, sha256
from .brief import BriefScope
from .errors import InvalidPolicyError, invalid_fields
from .verdict import Scope

__all__ = ("CheckMethod", "ValidationCheckSpec", "ValidationMinimum", "ValidationPolicy")

CheckMethod = Literal["model", "verifier"]


class ValidationCheckSpec(Given):
    """One check of a plan (protocol, ValidationCheckSpec).

    Attributes:
        check_id: Its name, unique within the scope.
        scope: The dimension it belongs to.
        criterion: What must hold.
        method: `model`: a model validator decides; `verifier`: a verifier of the user, named by `check_id`, which may
            report its finding as several checks.
        required: Whether it must pass.
    """

    check_id: FilledText
    scope: Scope
    criterion: FilledText
    method: CheckMethod = "model"
    required: bool = True


class ValidationPolicy(Given):
    """The trusted application's minimum, fixed and hashed at the root.

    Briefs only add to it. So does the policy of an application that resumes the run: what was asked for when it began
    holds to its end.

    Raises:
        InvalidPolicyError: A field is unknown or out of bounds.
    """

    scopes: list[BriefScope] = Field(default_factory=list)
    """Scopes that every sub-task is validated in, whatever its brief selects; `task` always is."""

    checks: list[ValidationCheckSpec] = Field(default_factory=list)
    """Checks that every task with their scope must pass beside its own criteria. A model decides them."""

    max_tool_rounds: int = Field(4, ge=1)
    """Rounds of tool calls of a model validator in the scopes evidence, hypothesis and root. One more is an error."""

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            field = str(next(iter(error.errors()[0]["loc"]), ""))
            raise InvalidPolicyError(invalid_fields("ValidationPolicy", error), field=field) from error

    @field_validator("checks")
    @classmethod
    def _distinct(cls, checks: list[ValidationCheckSpec]) -> list[ValidationCheckSpec]:
        if any(check.method != "model" for check in checks):
            raise ValueError("a policy's check is decided by a model: verifiers are given to the solver")
        twice = [key for key, times in Counter((c.scope, c.check_id) for c in checks).items() if times > 1]
        if twice:
            raise ValueError(f"check ids must be unique within a scope: {twice}")
        return checks

    def joined(self, more: ValidationPolicy) -> ValidationPolicy:
        """Add what another policy asks for.

        Args:
            more: The other one. Its checks under ids that are known already are left out: those that stand, stand.
        """
        known = {(check.scope, check.check_id) for check in self.checks}
        return ValidationPolicy(
            scopes=list(dict.fromkeys([*self.scopes, *more.scopes])),
            checks=[*self.checks, *(check for check in more.checks if (check.scope, check.check_id) not in known)],
            max_tool_rounds=max(self.max_tool_rounds, more.max_tool_rounds),
        )

    @property
    def hash(self) -> str:
        """sha256 of the normalized policy."""
        return sha256(canonical_json(self.model_dump(mode="json")))


class ValidationMinimum(Data):
    """What a run is validated by at least, as it was fixed when the run began.

    Attributes:
        policy: The application's policy.
        sub_tasks: Whether a model validates every sub-task.
        gate: Whether the root's answer must pass the root gate.
    """

    policy: ValidationPolicy
    sub_tasks: bool = False
    gate: bool = False
