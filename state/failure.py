"""Failures: the failed checks of a verdict, kept as evidence for the attempts that follow (ADR 021, decision 2)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ._model import Data
from .evidence import Evidence, bounded
from .verdict import ValidationResult

__all__ = ("Failure", "failures_of")


class Failure(Data):
    """One check that an attempt did not pass.

    Attributes:
        attempt: Number of the attempt that produced it, the first is 1.
        validator_id: Who found it.
        severity: `blocker` for a required check, `warning` for an optional one.
        justification: What was seen, verbatim.
        task_id: Id of the attempt.
        check_id: The criterion that failed.
        failure_code: A short name of the defect, if the validator gave one.
        evidence: What the validator saw, bounded.
    """

    attempt: int
    validator_id: str
    severity: Literal["blocker", "warning"] = "blocker"
    justification: str = ""
    task_id: str = ""
    check_id: str = ""
    failure_code: str | None = None
    evidence: list[Evidence] = Field(default_factory=list)

    def within(self, limit: int) -> Failure:
        """The same with at most `limit` characters of justification, and as many of all evidence together."""
        share = max(2, limit // max(1, len(self.evidence)))
        return self.model_copy(
            update={
                "justification": bounded(self.justification, limit=limit).text,
                "evidence": [evidence.within(share) for evidence in self.evidence],
            }
        )


def failures_of(result: ValidationResult, *, attempt: int) -> list[Failure]:
    """List what a verdict did not pass, warnings included, in the order of its checks.

    Args:
        result: The verdict of the attempt.
        attempt: The attempt's number.
    """
    return [
        Failure(
            attempt=attempt,
            validator_id=check.validator_id,
            severity=check.severity,
            justification=check.justification,
            task_id=result.evaluated_task_id,
            check_id=check.check_id,
            failure_code=check.failure_code,
            evidence=check.evidence,
        )
        for check in result.checks
        if check.status != "passed"
    ]
