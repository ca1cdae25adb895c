"""Plans: what a decomposer proposed, checked and numbered."""

from __future__ import annotations

from collections.abc import Sequence

from .brief import SubTask, TaskBrief, child_brief, same_task
from .context_reads import ref_name
from .errors import InvalidInputError
from .ids import child_id
from .task import PlannedChild, Task

__all__ = ("execution_order", "faults_of", "planned")


def faults_of(plan: Sequence[SubTask], task: Task, *, taken: Sequence[str] = (), places: int) -> list[str]:
    """List what is wrong with a plan, in words that its decomposer can act on.

    Args:
        plan: The sub-tasks proposed.
        task: The task that is planned.
        taken: Objectives of children that are already accepted.
        places: How many children may still be added.
    """
    faults = []
    if len(plan) > places:
        faults.append(f"has {len(plan)} sub-tasks, at most {places} are allowed")
    faults += _dependency_faults(plan)
    faults += _brief_faults(plan, task)
    known = {same_task(text): text for text in taken}
    for index, objective in enumerate(objectives(plan)):
        name = same_task(objective)
        if name in task.lineage:
            faults.append(f"sub-task {index} repeats the task itself or one above it: {objective!r}")
        elif name in known:
            faults.append(f"sub-task {index} repeats another sub-task: {objective!r}")
        known[name] = objective
    return faults


def objectives(plan: Sequence[SubTask]) -> list[str]:
    """List the objectives of a plan's sub-tasks."""
    return [sub.task.objective if isinstance(sub.task, TaskBrief) else sub.task for sub in plan]


def _dependency_faults(plan: Sequence[SubTask]) -> list[str]:
    faults = [
        f"sub-task {index} depends on {wanted}, known are 0 to {len(plan) - 1}"
        for index, sub in enumerate(plan)
        for wanted in sub.depends_on
        if not 0 <= wanted < len(plan)
    ]
    if not faults and len(_order([sub.depends_on for sub in plan])) < len(plan):
        faults.append("its dependencies form a circle")
    return faults


def _brief_faults(plan: Sequence[SubTask], task: Task) -> list[str]:
    faults = []
    for index, sub in enumerate(plan):
        try:
            brief = _brief(sub.task, task)
        except InvalidInputError as error:
            faults.append(f"sub-task {index} does not make a brief: {error}")
            continue
        if ungranted := brief.ungranted(task.brief.context_refs):
            names = ", ".join(map(ref_name, ungranted))
            faults.append(f"sub-task {index} is given context_refs that this task was not granted: {names}")
    return faults


def _order(dependencies: Sequence[Sequence[int]]) -> list[int]:
    """Sort positions so that each comes after what it depends on; those in a circle are left out."""
    order: list[int] = []
    placed: set[int] = set()
    while True:
        ready = [
            index
            for index, wanted in enumerate(dependencies)
            if index not in placed and all(other in placed for other in wanted)
        ]
        if not ready:
            return order
        order += ready
        placed.update(ready)


def planned(plan: Sequence[SubTask], task: Task, *, first: int) -> list[PlannedChild]:
    """Turn a plan without faults into numbered children with briefs.

    Args:
        plan: The sub-tasks.
        task: The parent; its constraints are handed down.
        first: Number of the first child. Numbers within an attempt only go up.

    Raises:
        InvalidInputError: A sub-task does not make a brief.
    """
    ids = [child_id(task.id, first + index) for index in range(len(plan))]
    return [
        PlannedChild(
            id=ids[index],
            brief=_brief(sub.task, task),
            depends_on=[ids[wanted] for wanted in dict.fromkeys(sub.depends_on)],
        )
        for index, sub in enumerate(plan)
    ]


def _brief(given: str | TaskBrief, task: Task) -> TaskBrief:
    brief = given if isinstance(given, TaskBrief) else child_brief(given, parent_objective=task.brief.objective)
    return brief.inherit(task.brief.constraints)


def execution_order(children: Sequence[PlannedChild]) -> list[PlannedChild]:
    """Sort children topologically, in plan order where they are independent. The same for the same plan, always."""
    index = {child.id: position for position, child in enumerate(children)}
    order = _order([[index[wanted] for wanted in child.depends_on if wanted in index] for child in children])
    return [children[position] for position in order]
