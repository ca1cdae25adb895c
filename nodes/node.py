"""A node as LangGraph runs it: loads the frame, runs the body in its context, stores what it spent."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.errors import GraphInterrupt
from langgraph.runtime import get_runtime

from langgraph_recursive.state._model import plain
from langgraph_recursive.state.brief import ROOTS_ANCHOR
from langgraph_recursive.state.channels import Written
from langgraph_recursive.state.goal import goal_path, goal_status
from langgraph_recursive.state.task import HaltType
from langgraph_recursive.state.task_state import TaskState

from .context import CallFailed, Context, entered
from .effects import Body, adrive, drive
from .outcome import halted, no_outputs, outputs
from .run import Run, TaskStopped

if TYPE_CHECKING:
    from .components import Components
    from .policy import SolvePolicy

__all__ = ("RUN_KEY", "Node", "NodeBody", "Update", "run_of")

RUN_KEY = "__recursive_run"

Update = dict[str, Any]
"""What a node changed: fields of TaskState. `state` replaces all of it, `attempt` is the next one to start."""

NodeBody = Callable[[TaskState, Context], Body[Update]]


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


class Node(Runnable[dict[str, Any], dict[str, Any]]):
    """One node of the state machine.

    Args:
        name: Its name in the graph.
        body: What it does, written once for sync and async.
        parts: The components.
        policy: The limits.
        solver_name: Name of the solver's graph.
    """

    def __init__(self, name: str, body: NodeBody, parts: Components, policy: SolvePolicy, solver_name: str) -> None:
        self.name = name
        self.body = body
        self.parts = parts
        self.policy = policy
        self.solver_name = solver_name

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Run the body in this thread."""
        execution = _Execution(self, input, config or {})
        try:
            with entered(execution.context):
                return execution.finish(drive(self.body(execution.state, execution.context)))
        except (TaskStopped, CallFailed) as stop:
            return execution.finish(execution.stopped(stop))
        except GraphInterrupt as interrupt:
            raise execution.interrupted(interrupt) from None

    async def ainvoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Run the body on the event loop."""
        execution = _Execution(self, input, config or {})
        try:
            with entered(execution.context):
                return execution.finish(await adrive(self.body(execution.state, execution.context)))
        except (TaskStopped, CallFailed) as stop:
            return execution.finish(execution.stopped(stop))
        except GraphInterrupt as interrupt:
            raise execution.interrupted(interrupt) from None


class _Execution:
    """One execution of a node: what comes before and after its body, the same in both worlds."""

    def __init__(self, node: Node, values: dict[str, Any], config: RunnableConfig) -> None:
        self.run = run_of(config)
        self.run.called_by(*_caller(config))
        self.name = node.name
        self.solver_name = node.solver_name
        self.started = time.monotonic()
        # A stored value may come back as plain data (strict msgpack, a server); an instance passes as it is.
        self.state = TaskState.model_validate(values.get("state") or TaskState())
        self.nested = "|" in config.get("configurable", {}).get("checkpoint_ns", "")
        self.context = Context(run=self.run, parts=node.parts, policy=node.policy, given=values)
        if node.name != "admit":  # which works on the task it is given, not on the last run's
            self.context.at(self.state.attempt, elapsed=self.state.elapsed)
            self.state = self.state.model_copy(update={"current": self.context.attempt})
            self.run.allowances.know(self.context.attempt, self.state.context_reads)
        self.context.draws = node.name in ("solve", "aggregate", "verify")
        self.context.closing = self.context.draws and self.state.out_of_budget is not None
        if not self._of_child():
            self.run.listen(get_stream_writer())
        if node.name != "admit" and self.state.resume_at is not None:
            self.context.tell_rewound(self.state)

    def _of_child(self) -> bool:
        """Whether this is a child's task: before admit only what it is given tells."""
        if self.context.task is not None:
            return self.context.task.parent_id is not None
        return bool((self.context.given.get("attempt") or {}).get("parent_id"))

    def finish(self, update: Update) -> dict[str, Any]:
        """Merge the body's update, and what the execution spent and logged, into the state.

        The root also writes the outputs: when it has ended, and when a new run starts where an old one left its own.
        """
        before = update.pop("state", self.state)
        if before.attempt.parent_id is not None:
            update["current"] = update.get("current", before.attempt).model_copy(
                update={"anchor": ROOTS_ANCHOR, "owner": None}
            )
        channels = {"attempt": plain(update.pop("attempt"))} if "attempt" in update else {}
        if self.name != "admit":
            update["resume_at"] = None
        after = before.model_copy(
            update={
                **update,
                "log": [*before.log, *self.context.log],
                "context_reads": [*before.context_reads, *self.context.reads],
                "spent": before.spent + self.context.spent,
                "elapsed": before.elapsed + time.monotonic() - self.started,
            }
        )
        if after.ended:
            self.run.ledger.release(after.attempt.run, after.attempt.root_ref)
            self.run.done(after.attempt)
        if after.attempt.parent_id is None:
            if after.ended:
                channels |= outputs(after, self.context, self.solver_name)
            elif before is not self.state and self.state.current is not None:
                channels |= no_outputs()
        if self.context.said:
            channels["parent_messages"] = self.context.said
        self._tell_goals(after)
        return {"state": Written(after), **channels}

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

        The interrupts of its calls are already recorded by them. A nested graph that raised them again would show each
        several times, and an outermost one that raised none would lose them.
        """
        return GraphInterrupt(()) if self.nested and self.run.durable else interrupt
