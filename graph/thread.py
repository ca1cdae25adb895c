"""A thread's last run as its checkpoints tell of it, and how it is put back to go on from another state."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from langchain_core.messages import BaseMessage, RemoveMessage, messages_from_dict
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from langgraph_recursive.nodes.outcome import no_outputs
from langgraph_recursive.state._model import plain
from langgraph_recursive.state.context_reads import distinct_reads
from langgraph_recursive.state.errors import (
    InvalidInputError,
    MissingThreadError,
    RunningThreadError,
    UnknownThreadError,
    WrongSaverError,
)
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import SolveTrace

from .history import raised_policy, records
from .moments import RunTree, namespace_of
from .routing import after_admit
from .solver import RecursiveSolver

__all__ = ("LastRun", "StoredThread")

_INSTEAD = {
    "rewind": "use the outer graph's own time travel",
    "continue_from_halt": "there SolvePolicy(interrupt_on_halt=True) has the outer graph ask what is to be done",
}
"""What serves where an action does not reach."""


class StoredThread:
    """A solver's thread at rest.

    Args:
        graph: What `create_recursive_solver` returned, with a checkpointer of its own.
        config: Names the thread.
        action: What is to be done with it, `rewind` or `continue_from_halt`, for errors.

    Raises:
        InvalidInputError: The graph is another one.
        MissingThreadError: There is no checkpointer, or no thread is named.
        RunningThreadError: Its run is under way.
    """

    def __init__(self, graph: Any, config: RunnableConfig, action: str) -> None:
        if not isinstance(graph, RecursiveSolver):
            raise InvalidInputError(
                f"{action} takes what create_recursive_solver returned, not a {type(graph).__name__}: a solver that is "
                f"a node of another graph has no thread of its own; {_INSTEAD[action]}",
                field="graph",
                value=type(graph).__name__,
            )
        self.graph = graph
        self.action = action
        whole = cast(RunnableConfig, {**(graph.config or {}), **config})
        name = {**(graph.config or {}).get("configurable", {}), **config.get("configurable", {})}.get("thread_id")
        saver = graph._resolve_checkpointer(whole)
        if saver is None or not name:
            raise MissingThreadError(
                f"{action} needs a checkpointer and a thread: config={{'configurable': {{'thread_id': 'my-thread'}}}}",
                field="thread_id",
            )
        if graph.live.of_thread(str(name)):
            raise RunningThreadError(
                f"the run of thread {name!r} is under way: stop it first", field="thread_id", value=str(name)
            )
        self.saver: BaseCheckpointSaver[Any] = saver
        self.name = str(name)
        self.config: RunnableConfig = {"configurable": {"thread_id": name}}

    def last_run(self) -> LastRun:
        """Read the thread.

        Raises:
            UnknownThreadError: Nothing is stored under it.
            InvalidInputError: It holds no run of this solver by itself.
            WrongSaverError: The saver has no sync methods.
        """
        loop = getattr(self.saver, "loop", None)
        try:
            if isinstance(loop, asyncio.AbstractEventLoop) and not loop.is_running():
                raise NotImplementedError
            return LastRun(self, list(self.saver.list(self.config)))
        except (NotImplementedError, asyncio.InvalidStateError) as error:
            raise self._wrong(self.action, "a sync one") from error

    async def alast_run(self) -> LastRun:
        """Read the thread with an async saver; see `last_run`."""
        try:
            return LastRun(self, [entry async for entry in self.saver.alist(self.config)])
        except NotImplementedError as error:
            raise self._wrong(f"a{self.action}", "an async one") from error

    def _wrong(self, call: str, kind: str) -> WrongSaverError:
        saver = type(self.saver).__name__
        return WrongSaverError(
            f"{saver} does not serve {call}: use {kind}, or open_sqlite, which serves both",
            field="checkpointer",
            value=saver,
        )


class LastRun:
    """The last run on a thread.

    Args:
        thread: The thread.
        checkpoints: Its checkpoints, of all namespaces.

    Attributes:
        latest: The root's newest checkpoint.
        root: What it and what was written since hold of the root.
        tree: Every moment of its tasks.
        policy: Its limits: the solver's, with what persons raised since it began.

    Raises:
        UnknownThreadError: There are none.
        InvalidInputError: They are of another graph, of which the solver is a node.
    """

    def __init__(self, thread: StoredThread, checkpoints: list[CheckpointTuple]) -> None:
        if not checkpoints:
            raise UnknownThreadError(f"thread {thread.name!r} has no checkpoint", field="thread_id", value=thread.name)
        roots = [entry for entry in checkpoints if not namespace_of(entry)]
        latest = max(roots, key=lambda entry: entry.checkpoint["id"], default=None)
        found = [] if latest is None else records([latest])
        if latest is None or not found or found[0].state.current is None:
            raise InvalidInputError(
                f"thread {thread.name!r} holds no run of this solver by itself: {thread.action} does not reach a "
                f"solver that is a node of another graph; {_INSTEAD[thread.action]}",
                field="thread_id",
                value=thread.name,
            )
        self.latest = latest
        self.root = found[0]
        self.policy = raised_policy(thread.graph.policy, records(checkpoints))
        self.tree = RunTree(checkpoints, self.root.task, self.policy.max_attempts)

    def put_back(self, state: TaskState, then: CheckpointTuple, *log: SolveTrace) -> Command[str]:
        """What the root's channels become when it goes on from a state, and at which node: what was spent stays spent.

        Args:
            state: The root's state.
            then: The root's checkpoint at the time that it goes back to.
            log: What is to be told of it.
        """
        root, said = self.root, messages_from_dict(state.said)
        state = state.model_copy(
            update={
                "spent": root.usage,
                "log": [*root.state.log, *log],
                "elapsed": root.state.elapsed,
                "context_reads": distinct_reads([*root.reads, *state.context_reads]),
                "said": [],
            }
        )
        attempt = {"attempt": plain(state.attempt)} if state.resume_at == "admit" else {}
        values = {**no_outputs(), **attempt, "state": plain(state), **self._messages(then, said)}
        return Command(update=values, goto=after_admit(state))

    def _messages(self, then: CheckpointTuple, said: list[BaseMessage]) -> dict[str, Any]:
        """Take the conversations back too: the answer that is gone, and an `agent_parent`'s down to what is kept."""
        now, before = self.latest.checkpoint["channel_values"], then.checkpoint["channel_values"]
        told = before.get("messages") or []
        if "state" in before and TaskState.model_validate(before["state"]).ended:  # no earlier one is kept
            told = told[:-1]
        known = {message.id for message in told}
        gone = [message for message in now.get("messages") or [] if message.id not in known]
        values: dict[str, Any] = {"messages": [RemoveMessage(id=cast(str, message.id)) for message in gone]}
        if now.get("parent_messages"):
            values["parent_messages"] = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *said]
        return {name: value for name, value in values.items() if value}
