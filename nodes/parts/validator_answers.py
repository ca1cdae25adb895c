"""Reading a model validator's answer: only what the plan asks for counts, and nothing is repaired."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from langgraph_recursive.state.errors import invalid_fields
from langgraph_recursive.state.validation import ValidationPlan
from langgraph_recursive.state.validation_policy import ValidationCheckSpec
from langgraph_recursive.state.verdict import CheckStatus, Scope, ValidationCheck, Verdict

from ..conversions import well_formed
from .verifiers import failure_code_of

__all__ = ("ScopeAnswer", "read_answer")

_SHOWN = 300
_FAULT = 1_000
_EVIDENCE = "evidence"


class CheckAnswer(BaseModel):
    """One check of the plan, decided."""

    model_config = ConfigDict(extra="forbid", strict=True)

    check_id: str = Field(description="The check's id, as listed.")
    status: CheckStatus
    justification: str = Field(default="", description="What was seen, and for a failure what has to change.")
    failure_code: str | None = Field(default=None, description="A short name for the defect; null if passed.")
    evidence_refs: list[str] = Field(default_factory=list, description="Ids of sources that were really opened.")


class ScopeAnswer(BaseModel):
    """Exactly one entry for each check of the scope."""

    model_config = ConfigDict(extra="forbid", strict=True)

    scope: Scope
    checks: list[CheckAnswer]


def read_answer(answer: Any, plan: ValidationPlan, scope: Scope, sources: Collection[str]) -> Verdict:
    """Read an answer under a plan; whatever breaks a rule makes the verdict an `error`.

    A required check that is missing, one given twice, one that the plan does not have, another scope, a source that was
    never opened, a passed evidence check without a source, and any other form are all errors (protocol,
    ValidationPlan).

    Args:
        answer: The text, or data that a provider has already parsed.
        plan: The plan.
        scope: The scope that was to be validated.
        sources: Ids of what the validator really opened, or was given resolved.
    """
    specs = {check.check_id: check for check in plan.of(scope, "model")}
    try:
        found = ScopeAnswer.model_validate(_loaded(answer) if isinstance(answer, str) else answer)
    except ValidationError as error:
        return _illegal(invalid_fields("answer", error), answer)
    except (ValueError, RecursionError) as error:
        return _illegal(f"not one JSON object: {error}", answer)
    faults = _faults(found, scope, list(specs.values()), sources)
    if faults:
        return _illegal("; ".join(faults), answer)
    checks = [_check(check, specs[check.check_id]) for check in found.checks]
    told = [check.justification for check in checks if check.status != "passed"] or ["every check passed"]
    return Verdict(checks=checks, feedback="; ".join(told))


def _loaded(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key given twice could hide a second verdict behind the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _faults(
    found: ScopeAnswer, scope: Scope, specs: Sequence[ValidationCheckSpec], sources: Collection[str]
) -> list[str]:
    given = [check.check_id for check in found.checks]
    known = {spec.check_id for spec in specs}
    forged = sorted({ref for check in found.checks for ref in check.evidence_refs} - set(sources))
    bare = [
        check.check_id
        for check in found.checks
        if check.status == "passed" and not check.evidence_refs and _needs_source(check.check_id, scope)
    ]
    faults = [
        ("checks missing", sorted({spec.check_id for spec in specs if spec.required} - set(given))),
        ("checks not in the plan", sorted(set(given) - known)),
        ("checks given twice", sorted(name for name, times in Counter(given).items() if times > 1)),
        ("sources cited that were never opened", forged),
        ("checks of evidence passed without a source", bare),
    ]
    told = [f"{what}: {', '.join(names)[:_SHOWN]}" for what, names in faults if names]
    return told if found.scope == scope else [f"scope {found.scope} instead of {scope}", *told]


def _needs_source(check_id: str, scope: Scope) -> bool:
    """Whether a pass must cite a source: in the scope evidence, and where the root's brief selected evidence."""
    return scope == _EVIDENCE or check_id == _EVIDENCE


def _check(found: CheckAnswer, spec: ValidationCheckSpec) -> ValidationCheck:
    return ValidationCheck(
        check_id=found.check_id,
        status=found.status,
        required=spec.required,
        justification=well_formed(found.justification).strip() or f"{found.status} without a reason: {spec.criterion}",
        failure_code=None if found.status == "passed" else failure_code_of(found.failure_code),
        evidence_refs=found.evidence_refs,
    )


def _illegal(fault: str, answer: Any) -> Verdict:
    shown = (answer if isinstance(answer, str) else str(answer)).strip()[:_SHOWN]
    seen = f": {shown!r}" if shown else ""
    return Verdict(error=well_formed(f"the validator's answer breaks its plan: {fault[:_FAULT]}{seen}"))
