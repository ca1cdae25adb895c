"""admit: take the task in, and check its spec before anything runs."""

from __future__ import annotations

import functools
from typing import Any, cast

from langchain_core.messages import RemoveMessage, messages_from_dict
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import interrupt

from langgraph_recursive.state.task import HaltType, Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import cut
from langgraph_recursive.state.usage import Usage
from langgraph_recursive.state.verdict import Verdict

from .components import Component
from .context import CallFailed, Context
from .decompose import may_split
from .estimate import estimate
from .intake import read_task
from .meter import calls_no_model
from .node import Update
from .outcome import halted
from .run import TaskStopped

__all__ = ("admit",)


async def admit(state: TaskState, context: Context) -> Update:
    """Start an attempt: of a new run, of a child, or of the fix that recovery made.

    The pre-execute validators run on every attempt, fixes included (ADR 021, constraints preserved). A spec they
    refuse ends the task: `root_spec` cannot change, so no fix could cure it. A task that a rewind put at a later node
    was admitted before: it goes on there.
    """
    given = context.given
    state = _going_on(given["seed"], context) if given.get("seed") else state
    if given.get("attempt"):
        task = Task.model_validate(given["attempt"])
    else:
        task = read_task(
            given.get("task"), given.get("messages") or [], given.get("task_id"), context.policy, previous=state.current
        )
        task = task.model_copy(update={"minimum": context.parts.validators.minimum})
    if state.resume_at not in (None, "admit"):
        context.at(task, elapsed=state.elapsed)
        return {"state": state.model_copy(update={"current": context.attempt})}
    context.parts.validators.check(task)
    if state.current is not None and _same_chain(task, state.current):
        state = state.model_copy(update=new_attempt(task))
        context.at(task, elapsed=state.elapsed)
    else:
        state = TaskState(current=task, earlier=_earlier(state, context))
        context.at(task, elapsed=0.0)
        if context.given.get("parent_messages"):
            context.said.append(RemoveMessage(id=REMOVE_ALL_MESSAGES))  # a new run is a new conversation
    state = await _started(state.model_copy(update={"current": context.attempt}), context)
    if state.resume_at is not None:
        context.tell_rewound(state)
        state = state.model_copy(update={"resume_at": None})
    limit, start = task.limit or context.policy.max_attempts, state.attempt.start
    context.emit("task_started", objective=cut(task.brief.objective), start=start, max_attempts=limit)
    try:
        if task.attempt == 1:
            context.take_task()
        await _approval(context)
        refusal = await _refusal(context)
    except TaskStopped as stop:  # caught here, since the wrapper knows only the state that admit was given
        refusal = stop.halt, stop.detail
    return {"state": state} if refusal is None else {"state": state, **halted(state, context, *refusal)}


async def _started(state: TaskState, context: Context) -> TaskState:
    """Start at `solve` where there is nothing to decide."""
    if state.attempt.start != "decompose" or await may_split(state, context):
        return state
    context.task = state.attempt.model_copy(update={"start": "solve"})
    return state.model_copy(update={"current": context.task})


def _going_on(seed: Any, context: Context) -> TaskState:
    """The state that a child goes on from; its conversation goes on too."""
    state = TaskState.model_validate(seed)
    context.said += messages_from_dict(state.said)
    return state.model_copy(update={"said": []})


def _same_chain(task: Task, current: Task) -> bool:
    return task.attempt > 1 and task.run == current.run and task.root_ref == current.root_ref


def new_attempt(task: Task) -> Update:
    """What a new attempt starts with (rules.md 12).

    Failures, attempts, traces and usage only grow. A re-aggregation keeps the children; any other attempt has none.
    """
    fresh = {"current": task, "report": None, "verdict": None, "halt": None, "replans": 0, "replanning": False}
    if task.start == "aggregate":
        return fresh
    children: Update = {
        "plan": [],
        "children": {},
        "reviews": [],
        "next_actions": [],
        "pending_replans": [],
        "revisions": {},
        "going_on": {},
    }
    return {**fresh, **children, "next_child": 1, "quota_from": 1, "reviewing": False, "failed_by": None}


def _earlier(state: TaskState, context: Context) -> Usage:
    """What this thread's earlier runs have spent, also one that was left unfinished."""
    total = context.given.get("total_usage")
    if state.current is not None and not state.ended:
        return state.earlier + context.run.ledger.spent(state.current.run)
    return Usage.model_validate(total) if total is not None else state.earlier


async def _approval(context: Context) -> None:
    """Ask a person before a run whose worst case is over `policy.approve_over` calls.

    Raises:
        TaskStopped: The person does not approve.
    """
    task, policy = context.attempt, context.policy
    if task.parent_id is not None or task.attempt > 1 or policy.approve_over is None:
        return
    parts = context.parts
    verifiers = len(parts.verifiers) + parts.validators.calls(task)
    worst = estimate(policy, verifiers=verifiers, reviewed=parts.reviewer is not None)
    if worst.calls <= policy.approve_over:
        return
    if not await context.call("approval", _ask_approval, worst.calls, worst.tasks):
        raise TaskStopped("cancelled", f"the worst case of {worst.calls} calls was not approved")


@calls_no_model
def _ask_approval(calls: int, tasks: int) -> bool:
    return bool(interrupt({"type": "approval", "worst_case_calls": calls, "worst_case_tasks": tasks}))


async def _refusal(context: Context) -> tuple[HaltType, str] | None:
    """Run the pre-execute validators side by side; why the spec is refused, or None."""
    checks = context.parts.prechecks
    branches = [(check.name, functools.partial(_precheck, check)) for check in checks]
    verdicts = await context.side_by_side(branches, Verdict)
    for check, verdict in zip(checks, verdicts, strict=True):
        if verdict.outcome == "error":
            return "validator_error", f"precheck {check.name}: {verdict.error or 'returned no checks'}"
        if verdict.outcome != "passed":
            reasons = [entry.justification for entry in verdict.checks if entry.status != "passed" and entry.required]
            return "precheck_failed", f"{check.name}: {'; '.join(reasons) or verdict.feedback or 'refused'}"
    return None


async def _precheck(check: Component, context: Context) -> Verdict:
    try:
        return cast(Verdict, await check(context, task=context.attempt))
    except CallFailed as failure:
        return Verdict(error=str(failure))
