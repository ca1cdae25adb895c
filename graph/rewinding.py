"""Rewind: take one task of a thread's last run back to a point that it was at before.

LangGraph's own time travel does not reach nested graphs. So the task's state at that point, and with it that of each
ancestor at the time, is read from the checkpoints, nested into the root's, and stored there as one new checkpoint: the
run goes on from it like any other that was cut off.
"""

from __future__ import annotations

import time
from typing import Any, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.rewinding import RewindPoint
from langgraph_recursive.state.trace import SolveTrace

from .thread import LastRun, StoredThread

__all__ = ("RewindPoint", "arewind", "rewind")


def rewind(graph: Any, config: RunnableConfig, task_id: str, to: RewindPoint = "admit") -> str:
    """Take a task of the thread's last run back to a point it was at; `graph.invoke(None, config)` then goes on.

    What the task and those above it made after that point is gone: reports, reviews and approved actions; a report that
    was pending then is pending again; an `agent_parent` has before it what it had said by then. Every other task keeps
    its result, and where one had not finished, or was stopped because the rewound one failed, it goes on at the node it
    was at. What depends on the task's result runs again. What was spent stays spent.

    An attempt that is taken back runs again under the next number of its chain, and those above it too if they had
    gone on since (rules.md 16): `attempts` keeps the old ones, marked `rewound`, and they do not count in
    `max_attempts`.

    The run may have ended or halted, have been interrupted or killed. Where the checkpoint of a point was not kept (our
    SQLite saver keeps only the newest of nested graphs, and `durability="exit"` only the last), its state is worked out
    from a later one: then reviews are taken back all together, and an attempt that has a successor, or whose parent
    planned anew since, may be out of reach.

    Args:
        graph: What `create_recursive_solver` returned, with a checkpointer of its own.
        config: Names the thread.
        task_id: The attempt to take back: `t`, `t.2`, `t.2_fix_1`.
        to: The node it goes on at.

    Returns:
        The id under which the task runs again.

    Raises:
        UnknownThreadError: Nothing is stored under this thread.
        UnknownTaskError: Its last run has no such task.
        UnreachedPointError: The task never came to this point.
        RunningThreadError: The run is still under way.
        InvalidInputError: The solver is embedded in another graph, or `to` is no point.
    """
    thread = _checked(graph, config, to)
    again, command = _put_back(thread.last_run(), task_id, to)
    graph.update_state(thread.config, command, as_node="admit")
    return again


async def arewind(graph: Any, config: RunnableConfig, task_id: str, to: RewindPoint = "admit") -> str:
    """Take a task back, as `rewind` does, with an async saver.

    Args:
        graph: What `create_recursive_solver` returned, with a checkpointer of its own.
        config: Names the thread.
        task_id: The attempt to take back.
        to: The node it goes on at.

    Returns:
        The id under which the task runs again.
    """
    thread = _checked(graph, config, to)
    again, command = _put_back(await thread.alast_run(), task_id, to)
    await graph.aupdate_state(thread.config, command, as_node="admit")
    return again


def _checked(graph: Any, config: RunnableConfig, to: str) -> StoredThread:
    thread = StoredThread(graph, config, "rewind")
    if to not in get_args(RewindPoint):
        raise InvalidInputError(
            f"to = {to!r} is no point: known are {', '.join(get_args(RewindPoint))}", field="to", value=to
        )
    return thread


def _put_back(run: LastRun, task_id: str, to: RewindPoint) -> tuple[str, Command[str]]:
    """Under which id the task runs again, and the root's channels from which it does."""
    again, state = run.tree.rewound(task_id, to)
    trace = SolveTrace(
        type="REWOUND",
        detail=f"{task_id} to {to}: goes on as {again.id}",
        depth=again.depth,
        task_id=again.id,
        time=time.time(),
    )
    return again.id, run.put_back(state, run.tree.root_moment(task_id, to), trace)
