"""Validation: what is checked of an attempt, fixed in a plan before anything is, and what the verdicts come to.

A plan is compiled from everything that a verdict depends on. Its hash names the durable calls of the validators, so a
restart with the same plan finds what was finished and any other plan validates everything again; its token binds the
verdicts to task, attempt and plan (protocol, ValidationPlan).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Literal

from ._model import Data, canonical_json, sha256
from .brief import BriefScope
from .report import TaskReport
from .task import Task
from .validation_policy import CheckMethod, ValidationCheckSpec, ValidationPolicy
from .verdict import Outcome, RetryFrom, Scope, ScopeValidationResult, ValidationCheck, ValidationResult, Verdict, worst

__all__ = (
    "AGENTIC_SCOPES",
    "FRAMEWORK",
    "Judged",
    "ValidationPlan",
    "aggregated",
    "compile_plan",
    "model_validator_id",
    "scope_result",
)

AGENTIC_SCOPES: frozenset[Scope] = frozenset({"evidence", "hypothesis", "root"})
"""Scopes whose model validator may use its own tools. `output` and `task` are one call without any."""

FRAMEWORK = "framework"
"""Validator id of the deterministic checks."""

_ORDER: tuple[BriefScope, ...] = ("evidence", "hypothesis", "output", "task")
_MARK_CHARS = 6


def model_validator_id(scope: Scope) -> str:
    """Name a scope's model validator, in verdicts and in traces."""
    return f"validator:{scope}"


class ValidationPlan(Data):
    """What is checked of one attempt (protocol, ValidationPlan).

    Attributes:
        task_id: The attempt.
        attempt: Its number.
        scopes: In the order in which they are validated.
        checks: All checks.
        plan_hash: Hash of everything the verdict depends on.
    """

    task_id: str
    attempt: int
    scopes: list[Scope]
    checks: list[ValidationCheckSpec]
    plan_hash: str

    @property
    def mark(self) -> str:
        """The hash's beginning, which names durable calls."""
        return self.plan_hash[:_MARK_CHARS]

    @cached_property
    def token(self) -> str:
        """Binds a verdict to task id, attempt and plan; only a verdict with the right one is accepted."""
        return sha256(canonical_json([self.task_id, self.attempt, self.plan_hash]))

    def of(self, scope: Scope, method: CheckMethod) -> list[ValidationCheckSpec]:
        """The checks of one scope that are decided in one way."""
        return [check for check in self.checks if check.scope == scope and check.method == method]


def compile_plan(
    task: Task,
    report: TaskReport,
    *,
    policy: ValidationPolicy,
    verifiers: Mapping[str, str],
    model: str = "",
    tools: str = "",
    artifacts: Iterable[str] = (),
    trajectory_head: str = "",
    gate: bool = False,
) -> ValidationPlan:
    """Compile the plan of an attempt. Every argument is covered by its hash, the task's id and number by its token.

    Args:
        task: The attempt, with brief and anchor.
        report: What it reports.
        policy: The application's minimum.
        verifiers: The user's verifiers: name, and what tells one version from another.
        model: What tells the validator model; empty if no model validates.
        tools: What tells its tools and their policy.
        artifacts: Content hashes of the resolved artifacts.
        trajectory_head: Hash of what the attempt did.
        gate: Whether the root gate is on: then there is the one scope `root`.
    """
    scopes = _scopes(task, policy, by_model=bool(model), gate=gate)
    checks = [
        ValidationCheckSpec(check_id=name, scope=scopes[-1], criterion=f"{name} accepts the answer", method="verifier")
        for name in verifiers
    ]
    if model:
        checks += _root_checks(task) if gate else [check for scope in scopes for check in _sub_task_checks(task, scope)]
        checks += [
            check.model_copy(update={"check_id": f"policy-{check.check_id}"})
            for check in policy.checks
            if check.scope in scopes
        ]
    depends_on = {
        "policy": policy.hash,
        "anchor": task.anchor.hash,
        "brief": task.brief.hash,
        "report": report.model_dump(mode="json", exclude={"sequence", "child_task_id"}),
        "artifacts": sorted(artifacts),
        "trajectory": trajectory_head,
        "model": model,
        "tools": tools,
        "verifiers": dict(verifiers),
        "checks": [check.model_dump(mode="json") for check in checks],
    }
    return ValidationPlan(
        task_id=task.id,
        attempt=task.attempt,
        scopes=scopes,
        checks=checks,
        plan_hash=sha256(canonical_json(depends_on)),
    )


def _scopes(task: Task, policy: ValidationPolicy, *, by_model: bool, gate: bool) -> list[Scope]:
    if gate:
        return ["root"]
    if not by_model:
        return ["task"]
    wanted = {*task.brief.validation_scopes, *policy.scopes, "task"}
    return [scope for scope in _ORDER if scope in wanted]


_EVIDENCE = "Every claim that the answer rests on is supported by a source that you opened and cite."
_HYPOTHESIS = "What is assumed is named as assumed, can be tested, and is contradicted by nothing that is known."
_CONSTRAINTS = "Every constraint is kept."


def _sub_task_checks(task: Task, scope: Scope) -> list[ValidationCheckSpec]:
    if scope == "task":
        criteria = _numbered("c", scope, task.brief.completion_criteria)
        return criteria + _constraints(scope, task.brief.constraints)
    if scope == "output":
        return _numbered("o", scope, [f"It delivers: {text}" for text in task.brief.expected_outputs])
    criterion = _EVIDENCE if scope == "evidence" else _HYPOTHESIS
    return [ValidationCheckSpec(check_id=scope, scope=scope, criterion=criterion)]


def _root_checks(task: Task) -> list[ValidationCheckSpec]:
    """The anchor's criteria and constraints, and what the root's own brief selects: all in the one scope `root`."""
    checks = _numbered("c", "root", task.anchor.completion_criteria) + _constraints("root", task.anchor.constraints)
    for scope in task.brief.validation_scopes:
        if scope != "task":
            checks += [check.model_copy(update={"scope": "root"}) for check in _sub_task_checks(task, scope)]
    return checks


def _numbered(prefix: str, scope: Scope, criteria: Sequence[str]) -> list[ValidationCheckSpec]:
    return [
        ValidationCheckSpec(check_id=f"{prefix}{number}", scope=scope, criterion=text)
        for number, text in enumerate(criteria, 1)
    ]


def _constraints(scope: Scope, constraints: Sequence[str]) -> list[ValidationCheckSpec]:
    if not constraints:
        return []
    return [ValidationCheckSpec(check_id="constraints", scope=scope, criterion=_CONSTRAINTS)]


class Judged(Data):
    """One validator's verdict under a plan.

    Attributes:
        validator_id: Who gave it.
        verdict: What it says.
        token: Of the plan it was given under.
    """

    validator_id: str
    verdict: Verdict
    token: str


def scope_result(plan: ValidationPlan, scope: Scope, judged: Sequence[Judged]) -> ScopeValidationResult:
    """Put one scope's verdicts together.

    A verdict under another token, and a validator of the plan that gave none or two, make the scope `error`. The gate's
    model has its turn only once everything before it passed.
    """
    checks = [
        check.model_copy(update={"validator_id": entry.validator_id})
        for entry in judged
        if entry.token == plan.token
        for check in entry.verdict.checks
    ]
    errors = [error for entry in judged if (error := _error_of(entry, plan))] + _miscounted(plan, scope, judged)
    outcomes: list[Outcome] = [entry.verdict.outcome for entry in judged]
    outcome: Outcome = "error" if errors else worst(outcomes) if outcomes else "passed"
    return ScopeValidationResult(scope=scope, outcome=outcome, checks=checks, error="; ".join(errors) or None)


def _error_of(entry: Judged, plan: ValidationPlan) -> str:
    if entry.token != plan.token:
        return f"{entry.validator_id}: its verdict belongs to another task, attempt or plan"
    if entry.verdict.outcome == "error":
        return f"{entry.validator_id}: {entry.verdict.error or 'returned no checks'}"
    return ""


def _miscounted(plan: ValidationPlan, scope: Scope, judged: Sequence[Judged]) -> list[str]:
    given = Counter(entry.validator_id for entry in judged)
    expected = [check.check_id for check in plan.of(scope, "verifier")]
    model = model_validator_id(scope)
    waits = scope == "root" and any(entry.verdict.outcome != "passed" for entry in judged)
    if plan.of(scope, "model") and not (waits and model not in given):
        expected.append(model)
    faults = [f"{name}: gave no verdict" for name in expected if given[name] == 0]
    return faults + [f"{name}: gave {times} verdicts" for name, times in given.items() if times > 1]


def aggregated(
    plan: ValidationPlan, judged: Mapping[Scope, Sequence[Judged]], *, at: Literal["solve", "aggregate"]
) -> ValidationResult:
    """Aggregate all scopes: error over failed over unknown over passed (protocol, ValidationResult).

    Args:
        plan: The plan.
        judged: The verdicts, by scope.
        at: The node that makes the answer anew.
    """
    results = [scope_result(plan, scope, judged.get(scope, ())) for scope in plan.scopes]
    failed = [check for result in results for check in result.checks if check.status != "passed" and check.required]
    outcome = worst(result.outcome for result in results)
    entries = [entry for scope in plan.scopes for entry in judged.get(scope, ())]
    return ValidationResult(
        evaluated_task_id=plan.task_id,
        outcome=outcome,
        scope_results=results,
        issues=[result.error for result in results if result.error] + [_issue(check) for check in failed],
        retry_from=_retry_from(plan, results, at) if outcome in ("failed", "unknown") else None,
        plan_hash=plan.plan_hash,
        feedback="; ".join(filter(None, (entry.verdict.feedback for entry in entries))),
        checked=any(entry.verdict.proves for entry in entries),
        gate=results[-1].outcome if plan.scopes == ["root"] and _met_gate(judged["root"]) else None,
    )


def _met_gate(judged: Sequence[Judged]) -> bool:
    return any(entry.validator_id == model_validator_id("root") for entry in judged)


def _issue(check: ValidationCheck) -> str:
    return f"{check.validator_id}/{check.check_id}: {check.justification}"


def _retry_from(
    plan: ValidationPlan, results: Sequence[ScopeValidationResult], at: Literal["solve", "aggregate"]
) -> RetryFrom:
    first = next(result for result in results if result.outcome != "passed")
    failed = [c.check_id for result in results for c in result.checks if c.status != "passed" and c.required]
    return RetryFrom(task_id=plan.task_id, at=at, scope=first.scope, check_ids=failed)
