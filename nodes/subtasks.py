"""subtasks: run the children, each in the same graph again."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import messages_to_dict
from langchain_core.runnables import RunnableConfig

from langgraph_recursive.state._model import plain
from langgraph_recursive.state.brief import render_brief, same_task
from langgraph_recursive.state.continuing import continued, left_off, seed_of
from langgraph_recursive.state.errors import MixedResultError
from langgraph_recursive.state.ids import root_ref
from langgraph_recursive.state.plan import execution_order
from langgraph_recursive.state.task import PlannedChild, Task, TaskInput
from langgraph_recursive.state.task_state import ChildResult, NextAction, TaskState

from .context import Context
from .effects import Effect, Handle, Join, Start, gather
from .node import Update
from .outcome import deterministic_verdict

__all__ = ("result_of", "subtasks", "with_new_children")

_Record = dict[str, Any]


async def subtasks(state: TaskState, context: Context) -> Update:
    """Run every child that has no result yet, and collect what comes back.

    All children are launched at once, in an order that depends on the plan alone, and each waits for its dependencies
    inside: LangGraph tells the calls of a node apart by name and order, so that order must be the same on a resume.
    """
    known = len(state.plan)
    state = with_new_children(state)
    context.tell_created(state.plan[known:])
    context.hold_calls(state.attempt.root_ref)
    todo = [child for child in execution_order(state.plan) if child.id not in state.children]
    if context.policy.sequential_children:
        records = await _one_by_one(todo, state, context)
    else:
        records = await _at_once(todo, state, context)
    results = [record["child"] for record in map(_read, records) if record["child"]]
    lacking = [record["lacks"] for record in records if record.get("lacks")] + _spent_out(results)
    done = _with_results(state, results)
    return {"state": done.model_copy(update={"out_of_budget": lacking[0]}) if lacking else done}


def _spent_out(results: Sequence[ChildResult]) -> list[str]:
    """Why children halted for want of budget."""
    return [result.halt.detail for result in results if result.halt and result.halt.type == "budget_exhausted"]


def with_new_children(state: TaskState) -> TaskState:
    """Give the children that reviews approved their place in the plan."""
    created = [
        PlannedChild(id=action.child_id, brief=action.brief)
        for action in state.next_actions
        if action.kind == "create" and action.brief is not None
    ]
    return state.model_copy(update={"plan": [*state.plan, *created]}) if created else state


def _with_results(state: TaskState, results: Sequence[ChildResult]) -> TaskState:
    """Take results in, numbered in the order of the plan; what was approved for children that ran is done."""
    numbered = {
        result.id: result.model_copy(
            update={"report": result.report.model_copy(update={"sequence": state.sequence + number})}
        )
        for number, result in enumerate(results, 1)
    }
    return state.model_copy(
        update={
            "children": {**state.children, **numbered},
            "sequence": state.sequence + len(numbered),
            "going_on": {name: left for name, left in state.going_on.items() if name not in numbered},
            "next_actions": [
                action for action in state.next_actions if action.kind == "rerun" and action.child_id not in numbered
            ],
        }
    )


async def _at_once(todo: Sequence[PlannedChild], state: TaskState, context: Context) -> list[_Record]:
    handles: dict[str, Handle[_Record]] = {}
    for child in todo:
        needed = {wanted: handles[wanted] for wanted in child.depends_on if wanted in handles}
        body = functools.partial(_child, child, state, context, needed)
        handles[child.id] = await context.launch(Start(child.id, body))
        # Not in the body: after a resume that of a child that has ended does not run again.
        handles[child.id].then(functools.partial(_fail_fast, state, context))
    return await gather(list(handles.values()))


async def _one_by_one(todo: Sequence[PlannedChild], state: TaskState, context: Context) -> list[_Record]:
    handles: dict[str, Handle[_Record]] = {}
    records: list[_Record] = []
    for child in todo:
        needed = {wanted: handles[wanted] for wanted in child.depends_on if wanted in handles}
        body = functools.partial(_child, child, state, context, needed)
        handles[child.id] = await context.launch(Start(child.id, body))
        records += await gather([handles[child.id]])
        if context.parts.on_child_failure == "fail_fast" and not _passed(records[-1]):
            break
    return records


async def _child(
    child: PlannedChild, state: TaskState, context: Context, needed: Mapping[str, Handle[_Record]]
) -> _Record:
    """Wait for the dependencies, then run the child; a record without a child when it never started."""
    found = dict(state.children)
    for wanted, handle in needed.items():
        result = _read(await Join(handle))["child"]
        if result is not None:
            found[wanted] = result
    ready = all(wanted in found and found[wanted].passed for wanted in child.depends_on)
    if not ready or context.run.stopped(child.id):
        return {"child": None}
    task, seed = _next_task(child, [found[wanted] for wanted in child.depends_on], state, context)
    if lacks := context.hold_calls(child.id, tasks=1 if seed is None else 0):
        return {"child": None, "lacks": lacks}
    result = result_of(child, await RunTask(context.run.graph, task, seed), keep=context.parts.reviewer is not None)
    return {"child": plain(result)}


def _fail_fast(state: TaskState, context: Context, record: _Record) -> None:
    """Stop the siblings of a child without an accepted answer, if that is wanted.

    For want of budget nobody is stopped: what can still be finished is kept.
    """
    result = _read(record)["child"]
    if result is None or result.passed or _spent_out([result]) or context.parts.on_child_failure != "fail_fast":
        return
    for sibling in state.plan:
        if sibling.id != result.id:
            context.run.stop(sibling.id)


def _next_task(
    child: PlannedChild, needed: Sequence[ChildResult], state: TaskState, context: Context
) -> tuple[Task, TaskState | None]:
    """The child's first attempt, or the one with which it goes on, and the state to go on from."""
    names = {planned.id: planned.brief.objective for planned in state.plan}
    inputs = [
        TaskInput(task_id=result.report.child_task_id, objective=names[result.id], text=result.report.text)
        for result in needed
    ]
    action = next((action for action in state.next_actions if action.child_id == child.id), None)
    if child.id in state.going_on:
        seed = state.going_on[child.id]
        task = seed.attempt
    elif action is None or action.left is None:
        task, seed = _first_attempt(child, state.attempt), None
    else:
        task, seed = _further_attempt(action, context), seed_of(action)
    if action is not None:
        action.launches(task.brief)
    return task.model_copy(update={"parent_id": state.attempt.id, "inputs": inputs or task.inputs}), seed


def _further_attempt(action: NextAction, context: Context) -> Task:
    policy = context.policy
    return continued(action, max_attempts=policy.max_attempts, evidence_chars=policy.max_evidence_chars)


def _first_attempt(child: PlannedChild, parent: Task) -> Task:
    return Task(
        id=child.id,
        spec=render_brief(child.brief),
        brief=child.brief,
        anchor_hash=parent.anchor_hash,
        depth=parent.depth + 1,
        parent_id=parent.id,
        run=parent.run,
        model=parent.model,
        lineage=[*parent.lineage, same_task(child.brief.objective)],
    )


class RunTask(Effect[TaskState]):
    """Run a task in the solver's own graph: the one seam through which every child goes.

    Args:
        graph: The solver.
        task: The attempt to run.
        seed: The state to go on from; None starts afresh.
    """

    def __init__(self, graph: Any, task: Task, seed: TaskState | None = None) -> None:
        self.graph = graph
        self.task = task
        self.seed = seed

    def _input(self) -> dict[str, Any]:
        return {"attempt": plain(self.task), "seed": plain(self.seed)}

    def _config(self) -> RunnableConfig:
        metadata = {"run": self.task.run, "task_id": self.task.id, "attempt": self.task.attempt}
        return {"run_name": self.task.id, "metadata": metadata}

    def perform(self) -> TaskState:
        return _ended(self.graph.invoke(self._input(), self._config(), output_keys=_ENDED))

    async def aperform(self) -> TaskState:
        return _ended(await self.graph.ainvoke(self._input(), self._config(), output_keys=_ENDED))


_ENDED = ["state", "parent_messages"]


def _ended(channels: Mapping[str, Any]) -> TaskState:
    """The state at a task's end, with its conversation: a further attempt goes on with it (`continue_from`)."""
    state = TaskState.model_validate(channels["state"])
    said = channels.get("parent_messages")
    return state.model_copy(update={"said": messages_to_dict(said)}) if said else state


def result_of(child: PlannedChild, ended: TaskState, *, keep: bool) -> ChildResult:
    """Read a child's result and make sure that report and verdict are of one attempt of this child.

    Raises:
        MixedResultError: They are another child's, or the verdict is on another attempt.
    """
    result = ChildResult(
        id=child.id,
        report=ended.answered,
        verdict=ended.verdict or deterministic_verdict(ended.attempt, "the child ended without a verdict"),
        attempts=len(ended.attempts),
        halt=ended.halt,
        partial=ended.partial,
        left=left_off(ended) if keep else None,
    )
    came_back = root_ref(result.report.child_task_id)
    if came_back != child.id:
        raise MixedResultError(
            f"child {child.id} came back with the result of {came_back}: do not resume this thread, start a new one",
            field="child_task_id",
            value=came_back,
        )
    if result.verdict.evaluated_task_id != result.report.child_task_id:
        raise MixedResultError(
            f"child {child.id} came back with the report of {result.report.child_task_id} and the verdict on "
            f"{result.verdict.evaluated_task_id}: do not resume this thread, start a new one",
            field="evaluated_task_id",
            value=result.verdict.evaluated_task_id,
        )
    return result


def _read(record: _Record) -> _Record:
    """A child's record, read back into our classes whatever form a checkpoint gave it."""
    child = record["child"]
    return {"child": None if child is None else ChildResult.model_validate(child)}


def _passed(record: _Record) -> bool:
    child = _read(record)["child"]
    return child is not None and bool(child.passed)
