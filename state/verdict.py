"""Verdicts: what verifying one attempt said, check by check.

One model serves the four documents: a `Verdict` is what one verifier returns, a `ValidationResult` the aggregate kept
in the state (rules.md 26).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from ._model import Data
from .evidence import Evidence

__all__ = (
    "CheckStatus",
    "Outcome",
    "RetryFrom",
    "Scope",
    "ScopeValidationResult",
    "ValidationCheck",
    "ValidationResult",
    "Verdict",
    "accept",
    "reject",
    "worst",
)

CheckStatus = Literal["passed", "failed", "unknown"]
Outcome = Literal["passed", "unknown", "failed", "error"]
Scope = Literal["evidence", "hypothesis", "output", "task", "root"]

_RANK: tuple[Outcome, ...] = ("passed", "unknown", "failed", "error")


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Aggregate outcomes: error over failed over unknown over passed; nothing at all is an `error`."""
    ranked = [_RANK.index(outcome) for outcome in outcomes]
    return _RANK[max(ranked)] if ranked else "error"


class ValidationCheck(Data):
    """One check of one attempt.

    Attributes:
        check_id: The criterion's name, the same on every attempt.
        status: `unknown` when it could not be decided.
        required: Whether it must pass. An optional check that fails is recorded as a warning and fails nothing.
        justification: What was seen, with the evidence quoted, never only a summary.
        failure_code: A short name of the defect. A judge reuses it for the same defect, so a repeat is seen in other
            words too.
        evidence: What the validator saw.
        evidence_refs: Ids of sources the validator really opened.
        validator_id: Who checked. The framework fills it in.
    """

    check_id: str
    status: CheckStatus
    required: bool = True
    justification: str = ""
    failure_code: str | None = None
    evidence: list[Evidence] = Field(default_factory=list)
    evidence_refs: list[str] = Field(default_factory=list)
    validator_id: str = ""

    @property
    def severity(self) -> Literal["blocker", "warning"]:
        """`blocker` for a required check, `warning` for an optional one (rules.md 18)."""
        return "blocker" if self.required else "warning"


class Verdict(Data):
    """What one verifier says about one attempt.

    Attributes:
        checks: One entry per criterion. An empty list without `error` counts as an error: who says nothing has not
            passed anything.
        feedback: The verdict in words, for the trace.
        error: Why the verifier could not do its work. Never a pass.
        checked: False when nothing was really checked (`always_accept`), so the answer is not called verified.
    """

    checks: list[ValidationCheck] = Field(default_factory=list)
    feedback: str = ""
    error: str | None = None
    checked: bool = True

    @property
    def outcome(self) -> Outcome:
        """The verdict of the required checks together."""
        return "error" if self.error is not None else _outcome(self.checks)

    @property
    def accepted(self) -> bool:
        """Whether every required check passed."""
        return self.outcome == "passed"

    @property
    def proves(self) -> bool:
        """Whether a pass of it verifies the answer: something real was checked that had to pass (rules.md 7)."""
        return self.checked and any(check.required for check in self.checks)


def _outcome(checks: Sequence[ValidationCheck]) -> Outcome:
    required = [check.status for check in checks if check.required]
    return worst(required) if required or not checks else "passed"


def accept(feedback: str = "") -> Verdict:
    """Accept an answer.

    Args:
        feedback: Why, for the trace.
    """
    return Verdict(
        checks=[ValidationCheck(check_id="answer", status="passed", justification=feedback)],
        feedback=feedback,
    )


def reject(
    feedback: str,
    *,
    check_id: str = "answer",
    failure_code: str | None = None,
    evidence: Sequence[Evidence] = (),
) -> Verdict:
    """Reject an answer.

    Args:
        feedback: What is wrong, as the next attempt should read it.
        check_id: The criterion that failed.
        failure_code: A short name of the defect, for comparing attempts.
        evidence: What was seen.
    """
    check = ValidationCheck(
        check_id=check_id,
        status="failed",
        justification=feedback,
        failure_code=failure_code,
        evidence=list(evidence),
    )
    return Verdict(checks=[check], feedback=feedback)


class RetryFrom(Data):
    """Where the next attempt starts (rules.md 26). Set by the framework from the verdict, never by a reviewer.

    Attributes:
        task_id: The attempt that was rejected.
        at: The node that makes the answer anew.
        scope: The first scope that did not pass.
        check_ids: The required checks that did not pass.
    """

    task_id: str
    at: Literal["decompose", "solve", "aggregate"]
    scope: Scope = "task"
    check_ids: list[str] = Field(default_factory=list)


class ScopeValidationResult(Data):
    """The checks of one scope.

    Attributes:
        scope: Which dimension was validated.
        outcome: The checks together, `error` over `failed` over `unknown` over `passed`.
        checks: The checks, each with the id of its validator.
        error: Why the scope could not be validated.
    """

    scope: Scope
    outcome: Outcome
    checks: list[ValidationCheck] = Field(default_factory=list)
    error: str | None = None


class ValidationResult(Data):
    """The verdict of one attempt: every scope, aggregated.

    Attributes:
        evaluated_task_id: The attempt that was verified.
        outcome: All scopes together.
        scope_results: One per scope, in order.
        issues: What did not pass, in words.
        retry_from: Where to start again; None for `passed` and `error`.
        plan_hash: Hash of everything the validation depended on.
        feedback: The verifiers' words, whole, for the trace.
        checked: False when nothing was really checked that had to pass.
        gate: What the root gate said, if the attempt got that far.
        waived_by: Who accepted the answer though it had not passed.
    """

    evaluated_task_id: str
    outcome: Outcome
    scope_results: list[ScopeValidationResult] = Field(default_factory=list)
    issues: list[str] = Field(default_factory=list)
    retry_from: RetryFrom | None = None
    plan_hash: str = ""
    feedback: str = ""
    checked: bool = True
    gate: Outcome | None = None
    waived_by: str | None = None

    @property
    def checks(self) -> list[ValidationCheck]:
        """All checks of all scopes."""
        return [check for scope in self.scope_results for check in scope.checks]

    @property
    def verified(self) -> bool:
        """Whether it passed, and a real required check was among its checks (rules.md 7 and 9)."""
        return self.outcome == "passed" and self.checked
