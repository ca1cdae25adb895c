"""What a node has at hand while it runs, and the durable call that everything goes through."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.messages import BaseMessage
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.store.base import BaseStore
from langgraph.types import RetryPolicy
from pydantic import BaseModel

from langgraph_recursive.state._model import plain
from langgraph_recursive.state.context_reads import ContextRead
from langgraph_recursive.state.event import EventType
from langgraph_recursive.state.task import PlannedChild, Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import SolveTrace, TraceType, cut
from langgraph_recursive.state.usage import Usage
from langgraph_recursive.state.validation import ValidationPlan

from .call import Call, CallFailed, Target, TryAgain, delay, read_in, receipt_of
from .call_tasks import CallTasks
from .context_store import ContextStore
from .current import current_context, entered
from .effects import Body, Handle, Invoke, Join, Start, gather
from .policy import SolvePolicy
from .run import Run, TaskStopped

if TYPE_CHECKING:
    from .components import Components

__all__ = ("CallFailed", "Context", "current_context", "entered", "invoke")

Model = TypeVar("Model", bound=BaseModel)
Launched = TypeVar("Launched")


@dataclass
class Context:
    """What one execution of one node has at hand.

    Attributes:
        run: What the whole tree shares.
        parts: The components.
        policy: The limits.
        tasks: Which of its calls have a LangGraph `task` of their own.
        given: The graph's input channels.
        control: LangGraph's control of the run, through which it can be drained.
        store: LangGraph's store of the run: the solver's, or that of the graph or server it runs in.
        task: The attempt at work; None only in `admit`, before there is one.
        deadline: `time.monotonic()` value at which the task's time is up.
        until: The same for the component call under way.
        draws: Whether this node draws on the calls that are kept back for its task's answer and verdict.
        closing: Whether the budget has run out and only what is there is put together; time is no limit to that.
        plan: The validation plan under way: durable calls are named after it, and their records bound to it.
        spent: What this execution has spent; the node's wrapper stores it.
        receipts: What each call in it spent and read, by the call's id.
        log: Traces of this execution, likewise.
        reads: What this execution has read of context references, likewise.
        said: What an `agent_parent` and others said in this execution, likewise.
        started: `time.monotonic()` value at which this execution began.
    """

    run: Run
    parts: Components
    policy: SolvePolicy
    tasks: CallTasks
    given: Mapping[str, Any] = field(default_factory=dict)
    control: RunControl | None = None
    store: BaseStore | None = None
    task: Task | None = None
    deadline: float | None = None
    until: float | None = None
    draws: bool = False
    closing: bool = False
    plan: ValidationPlan | None = None
    spent: Usage = field(default_factory=Usage)
    receipts: list[dict[str, Any]] = field(default_factory=list)
    log: list[SolveTrace] = field(default_factory=list)
    reads: list[ContextRead] = field(default_factory=list)
    said: list[BaseMessage] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def at(self, task: Task, *, elapsed: float) -> None:
        """Work on this attempt from here on.

        Args:
            task: The attempt.
            elapsed: Seconds the task has already taken.

        Raises:
            InvalidInputError: The application that goes on with the run cannot do it as it began.
        """
        self.task = self.run.anchored(task)
        if self.run.minimum is not None:
            self.parts = self.parts.held_to(self.run.minimum)
        self.run.working(task)
        if task.parent_id is None and self.policy.budget.max_seconds is not None:
            self.run.end_after(self.policy.budget.max_seconds - elapsed)
        limit = self.policy.max_task_seconds
        self.deadline = self.run.limit(task, None if limit is None else limit - elapsed)

    @property
    def contexts(self) -> ContextStore | None:
        """Where granted snapshots are kept: in the solver's context store, else in the store of the run."""
        if self.parts.contexts is None and self.store is not None:
            return ContextStore(self.store)
        return self.parts.contexts

    @property
    def attempt(self) -> Task:
        """The attempt at work."""
        if self.task is None:
            raise RuntimeError("no task has been admitted yet")
        return self.task

    def trace(self, kind: TraceType, detail: str = "", *, attempt: int = 0) -> None:
        """Record what happened."""
        task = self.attempt
        entry = SolveTrace(
            type=kind, detail=detail, depth=task.depth, attempt=attempt, task_id=task.id, time=time.time()
        )
        self.log.append(entry)
        self.run.record(task, entry)

    def emit(self, kind: EventType, *, usage: Usage | None = None, seconds: float | None = None, **data: Any) -> None:
        """Tell those who stream what happened to the attempt at work."""
        self.run.emit(kind, self.attempt, data, usage=usage, seconds=seconds)

    def emit_done(self, kind: EventType, **data: Any) -> None:
        """Tell what this execution has come to, with the time it took and what it spent."""
        self.emit(kind, usage=self.spent, seconds=time.monotonic() - self.started, **data)

    def emit_ended(self, kind: EventType, state: TaskState, **data: Any) -> None:
        """Tell that the task has ended, with the time it took and what it spent itself.

        Args:
            kind: How.
            state: The task as this execution found it.
            data: What belongs to the event.
        """
        seconds = state.elapsed + time.monotonic() - self.started
        self.emit(kind, usage=state.spent + self.spent, seconds=seconds, **data)

    def tell_created(self, children: Sequence[PlannedChild]) -> None:
        """Tell of sub-tasks that the attempt at work has planned."""
        task = self.attempt
        place = {"parent_id": task.id, "depth": task.depth + 1, "attempt": 1}
        for child in children:
            self.run.emit(
                "task_created",
                task.model_copy(update={"id": child.id, **place}),
                {"objective": cut(child.brief.objective), "depends_on": child.depends_on},
            )

    def tell_rewound(self, state: TaskState) -> None:
        """Tell that the attempt at work goes on where a rewind put it; a cousin only goes on where it was."""
        if state.attempts and state.attempts[-1].rewound:
            self.emit("rewound", at=state.resume_at, undone=[known.id for known in state.attempts if known.rewound])

    def count(self, usage: Usage) -> None:
        """Count something that is not a call."""
        self.spent += usage
        self.run.ledger.add(self.attempt.run, usage)

    @property
    def fixes_left(self) -> int:
        """Fixes that the whole tree may still make."""
        return self.policy.max_fixes_total - self.run.ledger.spent(self.attempt.run).fixes

    def take_fix(self) -> bool:
        """Count a fix of the whole tree if `max_fixes_total` allows one more."""
        taken = self.run.ledger.take_fix(self.attempt.run, self.policy.max_fixes_total)
        if taken:
            self.spent += Usage(fixes=1)
        return taken

    def hold_calls(self, task_id: str, *, tasks: int = 0) -> str | None:
        """Keep back what a task needs for one answer and its verdict, or say which limit stands against it.

        Args:
            task_id: The task, this one or a child that is to start.
            tasks: 1 if it is still to be counted as a task.
        """
        wanted = Usage(llm_calls=1 + self._verdict_calls, tasks=tasks)
        reason = self.run.ledger.hold(self.attempt.run, task_id, wanted)
        if reason is not None:
            self.run.spent_out(self.attempt, reason)
        return reason

    @property
    def _verdict_calls(self) -> int:
        by_models = self.parts.validators.calls(self.attempt)
        return by_models + sum(verifier.may_call_model for verifier in self.parts.verifiers)

    def take_task(self) -> None:
        """Count a task that starts.

        Raises:
            TaskStopped: The budget allows no further task.
        """
        started = Usage(tasks=1)
        if reason := self.run.ledger.reserve(self.attempt.run, started):
            raise TaskStopped("budget_exhausted", reason)
        self.run.ledger.settle(self.attempt.run, started, started)
        self.spent += started

    def check(self) -> None:
        """Raise when the task must end.

        Raises:
            TaskStopped: It was stopped, or its time is up.
        """
        if self.task is not None and self.run.stopped(self.task.id):
            raise TaskStopped("cancelled", "the task was stopped")
        if not self.closing and self.run.out_of_time():
            raise TaskStopped("budget_exhausted", f"max_seconds = {self.policy.budget.max_seconds:g}: the time is up")
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise TaskStopped("timed_out", "the task's time (max_task_seconds) is up")

    def may_call(self) -> None:
        """Raise when no further call may start; what is in flight goes on to its end and is kept.

        Raises:
            TaskStopped: The task must end.
            GraphDrained: The run is drained (LangGraph's `RunControl`): it stops here and can be resumed.
        """
        self.check()
        if self.control is not None and self.control.drain_requested:
            raise GraphDrained(self.control.drain_reason or "shutdown")

    @property
    def remaining(self) -> float | None:
        """Seconds until the earlier of the call's deadline and the task's; None when there is neither."""
        end = None if self.closing else self.run.end
        limits = [limit for limit in (self.until, self.deadline, end) if limit is not None]
        return max(0.001, min(limits) - time.monotonic()) if limits else None

    def fork(self) -> Context:
        """A context for one component call: its repeats share one deadline, and it counts for itself."""
        timeout = self.policy.call_timeout
        until = None if timeout is None else time.monotonic() + timeout
        return dataclasses.replace(self, spent=Usage(), log=[], reads=[], receipts=[], until=until)

    def absorb(self, fork: Context) -> None:
        """Count what a fork spent and read."""
        self.spent += fork.spent
        self.receipts += fork.receipts
        self.reads += fork.reads

    def start(
        self, name: str, function: Target, *args: Any, convert: Callable[[Any], Any] | None = None
    ) -> Start[dict[str, Any]]:
        """Prepare a durable call; `result` reads its record.

        Args:
            name: Name of the LangGraph task.
            function: A function, sync or async, or a Runnable.
            args: What it is called with.
            convert: Gives the call's value its type before it is stored.
        """
        retry = self.policy.retry
        return Start(
            self._marked(name),
            Call(self, name, function, args, convert or _same).body,
            retry=None if retry is None else retry._replace(retry_on=TryAgain),
        )

    def _marked(self, name: str) -> str:
        """Name a durable call, by the plan's hash too: LangGraph knows a call by its name and order alone."""
        return name if self.plan is None else f"{name}-{self.plan.mark}"

    def result(self, record: Mapping[str, Any]) -> Any:
        """Count what a call spent and read, and return its value.

        Raises:
            CallFailed: It gave none, or it was made under another validation plan.
            TaskStopped: The task was stopped meanwhile.
        """
        self.spent += Usage.model_validate(record["usage"] if "usage" in record else record["branch"])
        self.receipts += [receipt_of(record)] if "usage" in record else record.get("calls", [])
        self.reads += map(ContextRead.model_validate, record.get("reads", ()))
        if stopped := record.get("stopped"):
            raise TaskStopped(*stopped)
        if error := record.get("error"):
            raise CallFailed(*error)
        if self.plan is not None and "usage" in record and record.get("token") != self.plan.token:
            raise CallFailed("failed", "MixedVerdict", "the stored call belongs to another task, attempt or plan")
        return record["value"]

    def results(self, records: Sequence[dict[str, Any]]) -> list[Any]:
        """Count what all of several calls spent and read, then return their values.

        Raises:
            CallFailed: One gave none; the first such is raised.
            TaskStopped: The task was stopped meanwhile.
        """
        values: list[Any] = []
        failures: list[CallFailed | TaskStopped] = []
        for record in records:
            try:
                values.append(self.result(record))
            except (CallFailed, TaskStopped) as failure:
                failures.append(failure)
        if failures:
            raise failures[0]
        return values

    async def call(self, name: str, function: Target, *args: Any, convert: Callable[[Any], Any] | None = None) -> Any:
        """Call something durably, in a slot, with retries and a time-out, and return its value.

        Where it needs no LangGraph task of its own, further tries do.
        """
        start = self.start(name, function, *args, convert=convert)
        if self.tasks.spared(start.name):
            try:
                record = await start.body()
            except TryAgain:
                await Invoke(asyncio.sleep, delay(cast(RetryPolicy, self.policy.retry)))
            else:
                self.tasks.ended(start.name, record)
                return self.result(record)
        record = await Join(await self.launch(start))
        return self.result(record)

    async def launch(self, start: Start[Launched]) -> Handle[Launched]:
        """Start something that LangGraph keeps by a `task` of its own."""
        await self.tasks.open()
        return await start

    async def call_anew(self, name: str, function: Target, *args: Any) -> Any:
        """Call something in a slot, with retries and a time-out, and return its value. A resume calls it again.

        For what must be seen as it is now, whatever a checkpoint remembers.
        """
        fork = self.fork()
        start = fork.start(name, function, *args)
        try:
            while True:
                try:
                    return fork.result(await start.body())
                except TryAgain:
                    await Invoke(asyncio.sleep, delay(cast(RetryPolicy, self.policy.retry)))
        finally:
            self.absorb(fork)

    async def side_by_side(
        self, branches: Sequence[tuple[str, Callable[[Context], Body[Model]]]], kind: type[Model]
    ) -> list[Model]:
        """Run bodies at once, each with a context of its own, and return their values in order.

        A single one runs right here: a branch costs a LangGraph task.

        Args:
            branches: Name and body of each.
            kind: The class of their values; a checkpoint holds them as plain data.
        """
        if len(branches) == 1:
            return [await branches[0][1](self)]
        starts = [Start(self._marked(name), functools.partial(self._branch, body)) for name, body in branches]
        handles = [await self.launch(start) for start in starts]
        return [kind.model_validate(value) for value in self.results(await gather(handles))]

    async def _branch(self, body: Callable[[Context], Body[Any]]) -> dict[str, Any]:
        fork = self.fork()
        # "branch", not "usage": the calls inside have records of their own, and a resume counts each once. LangGraph
        # may have stored this record and not yet theirs, so it carries their receipts.
        try:
            with entered(fork):
                record = {"value": plain(await body(fork))}
        except TaskStopped as stop:
            record = {"stopped": [stop.halt, stop.detail]}
        except CallFailed as failure:
            record = {"error": failure.args}
        return {**record, "branch": plain(fork.spent), "calls": fork.receipts, **read_in(fork.reads)}


async def invoke(name: str, function: Target, *args: Any) -> Any:
    """Call a function: durably when a node is running, directly otherwise, so that parts also work by themselves."""
    context = current_context()
    return await (Invoke(function, *args) if context is None else context.call(name, function, *args))


def _same(value: Any) -> Any:
    return value
