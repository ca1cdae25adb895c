"""intervene: a person decides what becomes of a halt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.types import interrupt

from langgraph_recursive.state._model import plain
from langgraph_recursive.state.errors import InvalidInputError, RecursiveSolverError
from langgraph_recursive.state.intervening import Directed, accepted_anyway, answer_at_hand, decided, retried
from langgraph_recursive.state.intervention import DECISIONS, Intervention, read_intervention
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import cut
from langgraph_recursive.state.usage import Usage

from .components import Components
from .context import Context
from .meter import calls_no_model
from .node import Update
from .outcome import left_out
from .policy import SolvePolicy

__all__ = ("check_intervention", "intervene")


async def intervene(state: TaskState, context: Context) -> Update:
    """Carry out what a person decides about a halt: now, by an interrupt, or already, by `continue_from_halt`.

    Another attempt is granted whatever `max_attempts` and `max_fixes_total` say, and counted.
    """
    decision = state.intervention or await _asked(state, context)
    if decision.limits:
        context.run.raise_limits(decision.limits)
    context.trace("INTERVENED", f"{decision.by}: {decision.decision}{decision.reason and f': {decision.reason}'}")
    return _told({**decided(state, decision), **_carried_out(state, decision, context)}, decision, context)


def _carried_out(state: TaskState, decision: Intervention, context: Context) -> Update:
    if decision.decision == "stop":
        return _let_stand(state, decision)
    if decision.decision == "accept":
        return {**accepted_anyway(state, decision), "partial": left_out(state)}
    policy = context.run.policy
    going_on = _retried(state, decision, policy, more=policy.max_attempts - context.policy.max_attempts)
    context.count(Usage(fixes=1))
    return {**going_on.update, "attempt": going_on.task}


def _retried(state: TaskState, decision: Intervention, policy: SolvePolicy, *, more: int = 0) -> Directed:
    return retried(
        state,
        decision,
        max_attempts=policy.max_attempts,
        more=more,
        spec_chars=policy.max_spec_chars,
        evidence_chars=policy.max_evidence_chars,
    )


def _let_stand(state: TaskState, decision: Intervention) -> Update:
    return {} if state.halt is None else {"halt": state.halt.model_copy(update={"left_by": decision.by})}


def _told(update: Update, decision: Intervention, context: Context) -> Update:
    """Tell of the decision: what was given of it, and the attempt that follows."""
    following = update.get("attempt")
    given: dict[str, Any] = {
        name: value if isinstance(value, dict) else cut(value) for name, value in plain(decision).items()
    }
    given |= {"decision": decision.decision, "by": decision.by, "fix": following.id if following else None}
    context.emit("intervened", **given)
    return update


async def _asked(state: TaskState, context: Context) -> Intervention:
    """Ask until the answer fits."""
    complaint: str | None = None
    while True:
        answer = await context.call("intervention", _ask_person, _question(state, complaint))
        try:
            decision = read_intervention(answer)
            # Against the solver's own limits: another decision of these moments may just have raised the run's.
            check_intervention(decision, state, context.run.graph.policy, context.parts)
        except RecursiveSolverError as error:
            complaint = str(error)
        else:
            return decision


def _question(state: TaskState, complaint: str | None) -> dict[str, Any]:
    return {
        "type": "halt",
        "task_id": state.attempt.id,
        "spec": state.attempt.intent,
        "halt": plain(state.halt),
        "report": plain(state.report),
        "verdict": plain(state.verdict),
        "answer": answer_at_hand(state),
        "decisions": DECISIONS,
        "complaint": complaint,
    }


@calls_no_model
def _ask_person(question: dict[str, Any]) -> Any:
    answer = interrupt(question)
    return (
        plain(answer) if isinstance(answer, Intervention) else dict(answer) if isinstance(answer, Mapping) else answer
    )


def check_intervention(decision: Intervention, state: TaskState, policy: SolvePolicy, parts: Components) -> None:
    """Make sure that a decision can be carried out.

    Args:
        decision: The decision.
        state: The state of the halted task.
        policy: The limits that it has to raise something of, if it raises limits.
        parts: The components.

    Raises:
        InvalidInputError: There is no answer to accept, a text is too long, or no part is there that a chosen model
            could work for.
        InvalidPolicyError: A limit cannot be raised so.
        MissingDependencyError: The package that the model needs is not installed.
    """
    if decision.decision == "accept":
        accepted_anyway(state, decision)
    elif decision.decision == "retry":
        _retried(state, decision, policy)
    if decision.limits and policy.raised(decision.limits) == policy:
        raise InvalidInputError(
            f"limits = {decision.limits!r} raises nothing: give more than there is now", field="limits"
        )
    if decision.model:
        parts.check_model(decision.model)
