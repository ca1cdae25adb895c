"""Runs under way: stop one task of a run, and what is under it, while the run goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from langchain_core.runnables import RunnableConfig

from langgraph_recursive.nodes.run import Run
from langgraph_recursive.state.errors import NotRunningError, UnknownTaskError
from langgraph_recursive.state.ids import root_ref

__all__ = ("LiveRuns", "stop_task")


class LiveRuns:
    """The runs of one solver that are under way in this process."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}

    @contextlib.contextmanager
    def noted(self, run: Run) -> Iterator[None]:
        """Keep a run among them while it lasts."""
        self._runs[run.id] = run
        try:
            yield
        finally:
            del self._runs[run.id]

    def of_thread(self, thread_id: str) -> list[Run]:
        """The runs on a thread."""
        return [run for run in self._runs.copy().values() if run.thread_id == thread_id]

    def of_id(self, run_id: str) -> list[Run]:
        """The run that events name so."""
        return [run for run in self._runs.copy().values() if run.id == run_id]


def stop_task(graph: Any, run: RunnableConfig | str, task_id: str) -> None:
    """Stop one task at work, and all that is under it; the rest of the run goes on.

    No further call of it starts. Under the event loop calls in flight are cancelled; in sync they end first. Each
    stopped task gives a `failed` report with the halt `cancelled`, and its parent may only revise it or fail. A stop is
    remembered by that halt alone: a task that was killed before it could give its report goes on when it is resumed.

    May be called from any thread and any task of the event loop. A whole run is stopped by LangGraph's own
    `control=RunControl()`, after which it can be resumed.

    Args:
        graph: The solver.
        run: The run: a config with its `thread_id`, or the `run_id` that its events carry.
        task_id: The task; of a fix, its whole chain is stopped.

    Raises:
        NotRunningError: No such run is under way in this process.
        UnknownTaskError: No task of that id is at work; the message names those that are.
    """
    if isinstance(run, str):
        runs, named = graph.live.of_id(run), f"run {run!r}"
    else:
        thread = str(run.get("configurable", {}).get("thread_id", ""))
        runs, named = graph.live.of_thread(thread), f"a run on thread {thread!r}"
    if not runs:
        raise NotRunningError(f"{named} is not under way in this process", field="run", value=named)
    at_work = [task for live in runs for task in live.at_work]
    if root_ref(task_id) not in {root_ref(task) for task in at_work}:
        raise UnknownTaskError(
            f"no task {task_id!r} is at work: {', '.join(at_work) or 'none'} are", field="task_id", value=task_id
        )
    for live in runs:
        if root_ref(task_id) in map(root_ref, live.at_work):
            live.stop(root_ref(task_id))
