"""decompose: decide whether to split the task, and into what."""

from __future__ import annotations

from typing import cast

from langgraph_recursive.state.brief import SubTask, same_task
from langgraph_recursive.state.plan import faults_of, objectives, planned
from langgraph_recursive.state.task import PlannedChild, Task, TaskInput
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import cut, listed

from .context import Context
from .node import Update
from .outcome import finished_parts, halted

__all__ = ("decompose", "may_split")


async def decompose(state: TaskState, context: Context) -> Update:
    """Plan the task: an empty plan means that it is solved directly.

    The atomizer is asked once per task (rules.md 11). A plan that breaks a rule is asked for again once, with the
    reason; then the task is solved directly.
    """
    task = state.attempt
    if await _is_atomic(state, context):
        return _direct(state)
    plan, faults = await _sound_plan(state, context)
    if state.replanning and _same_plan(plan, state):
        return halted(state, context, "child_failed", "the new plan is the same as the one that failed")
    if not plan:
        if faults:
            context.trace("DECOMPOSED", f"0: the plan was refused twice ({faults}); solved directly")
        return _direct(state)
    context.trace("DECOMPOSED", listed(objectives(plan)))
    kept = _kept(state)
    children = planned(plan, task, first=state.next_child)
    context.parts.validators.check(task, children)
    context.tell_created(children)
    context.emit_done("decomposed", children=[[child.id, cut(child.brief.objective)] for child in children])
    return {
        "plan": [*kept, *children],
        "children": {child.id: state.children[child.id] for child in kept},
        "next_child": state.next_child + len(children),
        "quota_from": state.next_child,
        "replanning": False,
    }


async def may_split(state: TaskState, context: Context) -> bool:
    """Whether there is anything to decide that takes a call.

    At the depth limit every task is solved directly (rules.md 11), and so is one that an inline atomizer calls atomic.
    """
    if context.parts.decomposer is None or state.attempt.depth >= context.policy.max_depth:
        return False
    atomizer = context.parts.atomizer
    return atomizer is None or not atomizer.inline or not await _is_atomic(state, context)


def _kept(state: TaskState) -> list[PlannedChild]:
    """The accepted children that a replan keeps."""
    return [child for child in state.plan if state.replanning and child.id not in state.missing]


async def _is_atomic(state: TaskState, context: Context) -> bool:
    task = state.attempt
    atomizer = context.parts.atomizer
    if atomizer is None or state.standing or state.replanning:
        return False
    return cast(bool, await atomizer(context, task=task, depth=task.depth))


async def _sound_plan(state: TaskState, context: Context) -> tuple[list[SubTask], str]:
    """Ask for a plan, twice at most; an empty one with the faults that remained."""
    task = _with_findings(state)
    reason: str | None = None
    for _ in range(2):
        plan = await _proposed(context, task, reason)
        faults = faults_of(
            plan,
            task,
            taken=[answer.task for answer in state.accepted] if state.replanning else (),
            places=context.policy.max_children,
        )
        if not faults or (state.replanning and _same_plan(plan, state)):
            return plan, ""
        reason = "; ".join(faults)
    return [], reason or ""


async def _proposed(context: Context, task: Task, reason: str | None) -> list[SubTask]:
    decomposer = context.parts.decomposer
    assert decomposer is not None
    return cast(list[SubTask], await decomposer(context, task=task, depth=task.depth, complaint=reason))


def _with_findings(state: TaskState) -> Task:
    """On a replan the accepted children are shown as inputs."""
    if not state.replanning:
        return state.attempt
    found = [TaskInput(task_id=answer.task_id, objective=answer.task, text=str(answer)) for answer in state.accepted]
    return state.attempt.model_copy(update={"inputs": [*state.attempt.inputs, *found]})


def _same_plan(plan: list[SubTask], state: TaskState) -> bool:
    """Whether a plan is the old one again: all of it, or what of it was not accepted."""
    old = {same_task(child.brief.objective) for child in state.plan}
    failed = {same_task(child.brief.objective) for child in state.plan if child.id in state.missing}
    return {same_task(text) for text in objectives(plan)} in (old, failed)


def _direct(state: TaskState) -> Update:
    """Solve directly; after a replan that came to nothing, with the accepted results at hand."""
    return {
        "plan": [],
        "children": {},
        "replanning": False,
        "current": _with_findings(state),
        "partial": finished_parts(state),
    }
