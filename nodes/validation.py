"""Validation of one attempt: compile the plan, run its scopes, aggregate what the validators say."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.materials import Dossier, Entry, trajectory_head, trajectory_of
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.validation import (
    AGENTIC_SCOPES,
    FRAMEWORK,
    Judged,
    ValidationPlan,
    aggregated,
    compile_plan,
    model_validator_id,
)
from langgraph_recursive.state.verdict import Scope, ValidationCheck, ValidationResult, Verdict

from .components import Component
from .context import CallFailed, Context
from .effects import Body
from .parts.validators import ModelValidator

__all__ = ("Resolved", "validated")

_OUTCOME = "outcome"


@dataclass(frozen=True)
class Resolved:
    """What is looked up outside the state before a validator is asked.

    Attributes:
        verdict: The deterministic checks: a missing artifact or another hash is `failed`, a resolver that is down
            `unknown`, one of another root or user and a forged shape an `error`. None when there are no artifacts.
        entries: What was resolved, for the validators; `source` is the id that a check may cite.
        hashes: Content hashes; the plan depends on them.
        reads: What the attempt read of its context references.
    """

    verdict: Verdict | None = None
    entries: Sequence[Entry] = ()
    hashes: Sequence[str] = ()
    reads: Sequence[Entry] = ()


async def validated(state: TaskState, context: Context, resolved: Resolved | None = None) -> ValidationResult:
    """Validate an attempt.

    Scopes run in order and validators within a scope side by side (rules.md 23). A scope that did not pass does not
    stop those after it: one result has what failed in all of them, so that one fix can see it together. Only the root
    gate waits: it is asked about an answer that the user's verifiers passed.

    The plan's hash is in the names of the durable calls. So a restart with the same plan finds what was finished, and
    after any change of what the plan depends on everything is validated again.

    Args:
        state: The task, with the report to validate.
        context: The node's context.
        resolved: The report's artifacts, and what was read for it.
    """
    resolved = resolved or Resolved()
    task, report = context.attempt, state.answered
    validators = context.parts.validators
    model, gate, policy = validators.of(task), validators.gates(task), validators.policy
    trajectory = [*resolved.reads, *trajectory_of(state)]
    plan = compile_plan(
        task,
        report,
        policy=policy,
        verifiers={verifier.name: verifier.identity for verifier in context.parts.verifiers},
        model=_part(model).identity if model is not None else "",
        tools=_tools(task, report, model, gate=gate, policy_scopes=policy.scopes),
        artifacts=resolved.hashes,
        trajectory_head=trajectory_head(trajectory),
        gate=gate,
    )
    context.plan = plan
    run = _Scopes(
        plan,
        Answer(report, task=task.brief.objective),
        context.parts.verifiers,
        model,
        Dossier(policy=policy, task=task, report=report, artifacts=list(resolved.entries), trajectory=trajectory),
        _framework(report, resolved, plan),
    )
    judged = {scope: await run.judged(scope, context) for scope in plan.scopes}
    return aggregated(plan, judged, at=state.made_by)


_Branch = tuple[str, Callable[[Context], Body[Judged]]]


@dataclass(frozen=True)
class _Scopes:
    """Runs the validators of one plan."""

    plan: ValidationPlan
    answer: Answer
    verifiers: Sequence[Component]
    model: Component | None
    dossier: Dossier
    framework: list[Judged]

    async def judged(self, scope: Scope, context: Context) -> list[Judged]:
        """Run the validators of one scope."""
        last = scope == self.plan.scopes[-1]
        users: list[_Branch] = [
            (verifier.name, functools.partial(self._verifier, verifier)) for verifier in self.verifiers if last
        ]
        framework = self.framework if last else []
        model: list[_Branch] = []
        if self.model is not None and self.plan.of(scope, "model"):
            model = [(f"validator-{scope}", functools.partial(self._model, self.model, scope))]
        if scope != "root":
            return [*await context.side_by_side([*users, *model], Judged), *framework]
        first = [*await context.side_by_side(users, Judged), *framework]
        return [*first, *await context.side_by_side(model, Judged)] if _all_passed(first) else first

    async def _verifier(self, verifier: Component, context: Context) -> Judged:
        task = context.attempt
        return self._judged(
            verifier.name,
            await _verdict(verifier(context, task=task, result=self.answer, attempt=task.attempt)),
        )

    async def _model(self, model: Component, scope: Scope, context: Context) -> Judged:
        verdict = await _verdict(model(context, plan=self.plan, scope=scope, dossier=self.dossier))
        context.emit("validated", scope=scope, outcome=verdict.outcome)
        return self._judged(model_validator_id(scope), verdict)

    def _judged(self, validator_id: str, verdict: Verdict) -> Judged:
        return Judged(validator_id=validator_id, verdict=verdict, token=self.plan.token)


async def _verdict(asked: Body[object]) -> Verdict:
    try:
        return cast(Verdict, await asked)
    except CallFailed as failure:
        return Verdict(error=str(failure))


def _all_passed(judged: Sequence[Judged]) -> bool:
    return all(entry.verdict.outcome == "passed" for entry in judged)


def _framework(report: TaskReport, resolved: Resolved, plan: ValidationPlan) -> list[Judged]:
    """The deterministic checks: no call, and nothing that makes an answer verified."""
    error = resolved.verdict.error if resolved.verdict is not None else None
    checks = list(resolved.verdict.checks) if resolved.verdict is not None else []
    if report.outcome == "partial":
        checks.append(_unfinished(report))
    if not checks and error is None:
        return []
    return [
        Judged(validator_id=FRAMEWORK, verdict=Verdict(checks=checks, error=error, checked=False), token=plan.token)
    ]


def _unfinished(report: TaskReport) -> ValidationCheck:
    """An executor's own `partial` is a failed check: an unfinished answer never counts as success (rules.md 5)."""
    open_points = [*report.validation.open_issues, *report.remaining_issues]
    return ValidationCheck(
        check_id=_OUTCOME,
        status="failed",
        justification=f"the answer is reported as partial: {'; '.join(open_points) or 'no reason given'}",
    )


def _part(model: Component) -> ModelValidator:
    return cast(ModelValidator, model.target)


def _tools(
    task: Task, report: TaskReport, model: Component | None, *, gate: bool, policy_scopes: Sequence[Scope]
) -> str:
    scopes = {"root"} if gate else {*task.brief.validation_scopes, *policy_scopes}
    return _part(model).tool_identity(report) if model is not None and scopes & AGENTIC_SCOPES else ""
