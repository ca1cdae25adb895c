"""continue_from_halt: a person has a run that halted go on, in the same chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from langgraph_recursive.nodes.intervene import check_intervention
from langgraph_recursive.state.errors import FinishedThreadError, InvalidInputError, UnknownTaskError
from langgraph_recursive.state.ids import root_ref
from langgraph_recursive.state.intervention import Intervention, read_intervention
from langgraph_recursive.state.task import Halt

from .solver import RecursiveSolver, merge
from .thread import LastRun, StoredThread

__all__ = ("acontinue_from_halt", "continue_from_halt", "put_back")

_ANY_DECISION = 100_000


def continue_from_halt(
    graph: Any,
    config: RunnableConfig,
    intervention: Intervention | Mapping[str, Any] | str,
    *,
    task_id: str | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Have a thread's last run, which halted, go on as a person decides.

    The task that halted makes another attempt of its chain, from the original task with every failure so far and what
    the person says; or its answer is accepted with a waiver. The run then goes on above it: what other tasks made is
    kept, and what was stopped because of the halt goes on where it was. A run that a limit cut off (budget, time, a
    stop) goes on where it was, with nothing finished done again. What was spent stays spent. The decision is recorded
    with the attempt, as an event and in the traces.

        continue_from_halt(solver, config, Intervention(hint="prices are per year", by="ann"))

    Args:
        graph: What `create_recursive_solver` returned, with a checkpointer of its own: the one that halted, or one with
            other limits, models or parts.
        config: Names the thread.
        intervention: The decision, as `Command(resume=...)` takes it under `SolvePolicy.interrupt_on_halt`.
        task_id: Any attempt of the task that it is about; without it, the task whose halt is behind the root's.
        kwargs: As for `graph.invoke`.

    Returns:
        The outputs, as `graph.invoke` gives them.

    Raises:
        UnknownThreadError: Nothing is stored under this thread.
        UnknownTaskError: There is no such task that halted.
        FinishedThreadError: The last run has an accepted answer.
        RunningThreadError: The run is still under way.
        InvalidInputError: The run waits for an answer or was cut off, so it is resumed instead; or the decision cannot
            be carried out.
        InvalidPolicyError: A limit cannot be raised so.
    """
    outputs: dict[str, Any] = graph.invoke(None, put_back(graph, config, intervention, task_id), **kwargs)
    return outputs


async def acontinue_from_halt(
    graph: Any,
    config: RunnableConfig,
    intervention: Intervention | Mapping[str, Any] | str,
    *,
    task_id: str | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Have a run that halted go on, as `continue_from_halt` does, on the event loop.

    Args:
        graph: What `create_recursive_solver` returned, with a checkpointer of its own.
        config: Names the thread.
        intervention: The decision.
        task_id: Any attempt of the task that it is about.
        kwargs: As for `graph.ainvoke`.

    Returns:
        The outputs, as `graph.ainvoke` gives them.
    """
    decision, thread = read_intervention(intervention), StoredThread(graph, config, "continue_from_halt")
    command = _going_on(await thread.alast_run(), thread.graph, decision, task_id)
    await graph.aupdate_state(thread.config, command, as_node="admit")
    outputs: dict[str, Any] = await thread.graph.ainvoke(None, _unbounded(config), **kwargs)
    return outputs


def put_back(
    graph: Any, config: RunnableConfig, intervention: Intervention | Mapping[str, Any] | str, task_id: str | None = None
) -> RunnableConfig:
    """Put a run that halted back to where it goes on, and give the config with which it does.

    The arguments and errors are those of `continue_from_halt`.
    """
    decision, thread = read_intervention(intervention), StoredThread(graph, config, "continue_from_halt")
    command = _going_on(thread.last_run(), thread.graph, decision, task_id)
    graph.update_state(thread.config, command, as_node="admit")
    return _unbounded(config)


def _unbounded(config: RunnableConfig) -> RunnableConfig:
    # The limits that it raises become known only in the run.
    return merge(config, {"recursion_limit": _ANY_DECISION})


def _going_on(run: LastRun, graph: RecursiveSolver, decision: Intervention, task_id: str | None) -> Command[str]:
    """The root's channels from which the run goes on, and the node.

    Raises:
        RecursiveSolverError: It did not halt, there is no such task, or the decision cannot be carried out.
    """
    halt = _halt_of(run)
    halted = run.tree.halted()
    chain = root_ref(_behind(halt).task_id if task_id is None else str(task_id))
    if chain not in halted:
        raise UnknownTaskError(
            f"no task {task_id!r} has halted: those that did are {', '.join(halted)}", field="task_id", value=task_id
        )
    if decision.decision == "stop":
        raise InvalidInputError(
            "decision = 'stop': the run has ended already; retry it, or accept an answer", field="decision"
        )
    check_intervention(decision, halted[chain], run.policy, graph.parts)
    return run.put_back(run.tree.going_on(chain, decision), run.tree.last_open(run.root.task.root_ref))


def _halt_of(run: LastRun) -> Halt:
    state = run.root.state
    if state.asking and state.intervention is None:
        raise InvalidInputError(
            f"the run waits for what a person decides about {state.attempt.id}: answer with Command(resume=...)",
            field="thread_id",
        )
    if not state.ended:
        raise InvalidInputError(
            "the run has not ended: resume it with invoke(None, config), or answer its interrupts with "
            "Command(resume=...)",
            field="thread_id",
        )
    if state.halt is None:
        raise FinishedThreadError("the last run has an accepted answer, so there is no halt to go on from")
    return state.halt


def _behind(halt: Halt) -> Halt:
    """The halt behind another one, down to the first."""
    return halt if halt.child is None else _behind(halt.child)
