"""One execution of a node: loads the state, gives the body its context, and stores what came of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.errors import GraphInterrupt
from langgraph.runtime import get_runtime
from langgraph.types import Command

from langgraph_recursive.state._model import plain
from langgraph_recursive.state.brief import ROOTS_ANCHOR
from langgraph_recursive.state.channels import Written
from langgraph_recursive.state.goal import goal_path, goal_status
from langgraph_recursive.state.task import HaltType
from langgraph_recursive.state.task_state import TaskState

from .call_tasks import CallTasks
from .context import CallFailed, Context
from .listener import Listener
from .outcome import halted, no_outputs, outputs
from .run import Run, TaskStopped

if TYPE_CHECKING:
    from .node import Node

__all__ = ("RUN_KEY", "Execution", "Update", "run_of")

RUN_KEY = "__recursive_run"

Update = dict[str, Any]
"""What a node changed: fields of TaskState. `state` replaces all of it, `attempt` is the next one to start."""


def run_of(config: RunnableConfig) -> Run:
    """The run a node belongs to.

    Raises:
        RuntimeError: The state machine was run without its own `stream` or `astream`.
    """
    run = config.get("configurable", {}).get(RUN_KEY)
    if not isinstance(run, Run):
        raise RuntimeError("this graph runs only through the solver that create_recursive_solver returned")
    return run


def _caller(config: RunnableConfig) -> tuple[str, str]:
    """Thread and user of a run; the Runtime context says the user before the config does."""
    configurable = config.get("configurable", {})
    context: Any = get_runtime().context
    given = context.get("user_id") if isinstance(context, Mapping) else getattr(context, "user_id", None)
    user_id = configurable.get("user_id") if given is None else given
    return str(configurable.get("thread_id") or ""), "" if user_id is None else str(user_id)


class Execution:
    """What comes before and after a node's body, the same in both worlds.

    Args:
        node: The node.
        values: The channels as the node found them.
        config: LangGraph's config of this execution.
        loop: The event loop it runs on, if it does.

    Raises:
        RuntimeError: The state machine was run without its own `stream` or `astream`.
    """

    def __init__(
        self,
        node: Node,
        values: dict[str, Any],
        config: RunnableConfig,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.run = run_of(config)
        self.run.called_by(*_caller(config))
        self.name = node.name
        self.route = node.route
        self.solver_name = node.solver_name
        self.started = time.monotonic()
        # A stored value may come back as plain data (strict msgpack, a server); an instance passes as it is.
        self.state = TaskState.model_validate(values.get("state") or TaskState())
        namespace = config.get("configurable", {}).get("checkpoint_ns", "")
        self.nested = "|" in namespace
        self.context = Context(
            run=self.run,
            parts=node.parts,
            policy=self.run.policy,
            tasks=CallTasks(self.run.stored_tasks, namespace),
            given=values,
            control=get_runtime().control,
            store=get_runtime().store,
        )
        if node.name != "admit":  # which works on the task it is given, not on the last run's
            self.context.at(self.state.attempt, elapsed=self.state.elapsed)
            self.state = self.state.model_copy(update={"current": self.context.attempt})
            self.run.allowances.know(self.context.attempt, self.state.context_reads)
        self.context.draws = node.name in ("solve", "aggregate", "verify")
        self.context.closing = self.context.draws and self.state.out_of_budget is not None
        if node.name == "intervene":  # a person is asked also where the time is up
            self.context.closing, self.context.deadline = True, None
        if not self._of_child():
            self.run.listen(Listener(get_stream_writer(), config, loop))
        if node.name != "admit" and self.state.resume_at is not None:
            self.context.tell_rewound(self.state)

    def _of_child(self) -> bool:
        """Whether this is a child's task: before admit only what it is given tells."""
        if self.context.task is not None:
            return self.context.task.parent_id is not None
        return bool((self.context.given.get("attempt") or {}).get("parent_id"))

    def finish(self, update: Update) -> Command[str]:
        """Give what the node writes, and the node that comes next.

        Written are its task's state, the outputs when the root has ended, and the next attempt.
        """
        before = update.pop("state", self.state)
        channels = {"attempt": plain(update.pop("attempt"))} if "attempt" in update else {}
        after = self._merged(before, update)
        if after.ended:
            self.run.ledger.release(after.attempt.run, after.attempt.root_ref)
            self.run.done(after.attempt)
        if self.context.said:
            channels["parent_messages"] = self.context.said
        self._tell_goals(after)
        written = {"state": Written(after), **channels, **self._outputs(before, after)}
        # Said here, where the state is at hand: a conditional edge has LangGraph copy and update every channel first.
        return Command(update=written, goto=self.route(after))

    def _merged(self, before: TaskState, update: Update) -> TaskState:
        """The state with what the body changed, and what the execution spent, logged and read."""
        context = self.context
        if before.attempt.parent_id is not None:  # the root alone stores what is the same for the whole tree
            current = update.get("current", before.attempt)
            update["current"] = current.model_copy(update={"anchor": ROOTS_ANCHOR, "owner": None})
        if self.name != "admit":
            update.setdefault("resume_at", None)
        return before.model_copy(
            update={
                **update,
                "log": [*before.log, *context.log],
                "context_reads": [*before.context_reads, *context.reads],
                "spent": before.spent + context.spent,
                "elapsed": before.elapsed + time.monotonic() - self.started,
            }
        )

    def _outputs(self, before: TaskState, after: TaskState) -> dict[str, Any]:
        """The root's outputs: its result at the end, and none where a new run starts and an old one left its own."""
        if after.attempt.parent_id is not None:
            return {}
        if after.ended:
            return outputs(after, self.context, self.solver_name)
        starts_anew = before is not self.state and self.state.current is not None
        return no_outputs() if starts_anew else {}

    def _tell_goals(self, after: TaskState) -> None:
        """Tell each goal state that the task went through in this node."""
        seed = self.context.given.get("seed") if self.context.given.get("attempt") else None
        before = goal_status(TaskState.model_validate(seed) if seed else self.state)
        for goal in goal_path(before, goal_status(after)):
            self.context.emit("goal_changed", goal=goal.value)

    def stopped(self, stop: TaskStopped | CallFailed) -> Update:
        """The update of a node whose task must end."""
        if isinstance(stop, TaskStopped):
            return halted(self.state, self.context, stop.halt, stop.detail)
        kind: HaltType = "protocol_error" if stop.kind == "unparsable" else "task_failed"
        return halted(self.state, self.context, kind, str(stop), error=stop)

    def interrupted(self, interrupt: GraphInterrupt) -> GraphInterrupt:
        """The interrupt to raise from the node.

        Calls with a `task` of their own have already recorded their interrupts by it: a nested graph that raised them
        again would show each several times, and an outermost one that raised none would lose them.
        """
        return GraphInterrupt(()) if self.nested and self.context.tasks.used else interrupt
