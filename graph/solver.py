"""The compiled solver: LangGraph's graph, opened for one run at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Self, cast

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from langgraph_recursive.nodes.components import Components
from langgraph_recursive.nodes.intake import last_human_text, read_task
from langgraph_recursive.nodes.node import RUN_KEY, run_of
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.nodes.run import Run
from langgraph_recursive.state._model import plain
from langgraph_recursive.state.brief import RootTaskAnchor, TaskBrief
from langgraph_recursive.state.channels import SolverOutput, SolverState
from langgraph_recursive.state.errors import (
    FinishedThreadError,
    InvalidInputError,
    MissingThreadError,
    UnknownThreadError,
    WrongSaverError,
)
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import SolveTrace

from .chain import GivesOneValue
from .history import raised_policy, records, spent_by_run, stored_tasks, writes_since
from .live import LiveRuns

__all__ = ("RecursiveSolver",)

_THREADS = 1_024
_CHECKPOINT_KEYS = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map")


class RecursiveSolver(GivesOneValue, CompiledStateGraph[SolverState, None, Any, SolverOutput]):
    """What `create_recursive_solver` returns: a CompiledStateGraph that takes tasks in any form.

    It accepts a str, TaskBrief, RootTaskAnchor, PromptValue or list of messages where a plain compiled graph accepts
    only a dict, opens one `Run` for the whole tree, and rebuilds it from the checkpoints on a resume.
    """

    live: LiveRuns
    policy: SolvePolicy
    parts: Components

    @classmethod
    def of(cls, compiled: CompiledStateGraph[Any, Any, Any, Any], policy: SolvePolicy, parts: Components) -> Self:
        """Make a solver of a compiled state machine."""
        solver = cls.__new__(cls)
        solver.__dict__.update(compiled.__dict__)
        solver.policy = policy
        solver.live = LiveRuns()
        solver.parts = parts
        return solver

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Copy with some attributes replaced (`with_config` uses it)."""
        solver = type(self).__new__(type(self))
        solver.__dict__.update(self.__dict__, **(update or {}))
        return solver

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run to the end, as `CompiledStateGraph.invoke` does.

        Args:
            input: A task in any form, None to resume, or a Command.
            config: LangGraph config; with a checkpointer it names the thread.
            kwargs: As for `CompiledStateGraph.invoke`.

        Returns:
            The outputs (SolverOutput), with `__interrupt__` where a person is asked something.

        Raises:
            RecursiveSolverError: The input or the thread is not fit to run.
        """
        result = super().invoke(input, config, **kwargs)
        if not _lacks_traces(result):
            return result
        saver, thread = self._stored_at(config)
        return {**result, "traces": _last_traces(saver.list(thread))}

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run to the end on the event loop; see `invoke`."""
        result = await super().ainvoke(input, config, **kwargs)
        if not _lacks_traces(result):
            return result
        saver, thread = self._stored_at(config)
        return {**result, "traces": _last_traces([entry async for entry in saver.alist(thread)])}

    def _stored_at(self, config: RunnableConfig | None) -> tuple[BaseCheckpointSaver[Any], RunnableConfig]:
        own = effective(self, config or {})
        return self._state_checkpointer(own), {"configurable": {"thread_id": own["configurable"]["thread_id"]}}

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run and stream, as `CompiledStateGraph.stream` does.

        Raises:
            RecursiveSolverError: The input or the thread is not fit to run.
        """
        if not self._is_child(input, config):
            opening = _Opening(self, input, config)
            input, config = opening.input, opening.opened(opening.read() if opening.saver else [])
            with self.live.noted(run_of(config)):
                yield from super().stream(input, config, **kwargs)
        else:
            yield from super().stream(input, config, **kwargs)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Run and stream on the event loop, as `CompiledStateGraph.astream` does.

        Raises:
            RecursiveSolverError: The input or the thread is not fit to run.
        """
        if not self._is_child(input, config):
            opening = _Opening(self, input, config)
            input, config = opening.input, opening.opened(await opening.aread() if opening.saver else [])
            with self.live.noted(run_of(config)):
                async for chunk in super().astream(input, config, **kwargs):
                    yield chunk
        else:
            async for chunk in super().astream(input, config, **kwargs):
                yield chunk

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The state machine for a notebook, drawn without the web service that LangGraph asks."""
        from .view.machine import machine_svg  # only a notebook needs it

        return {"image/svg+xml": str(machine_svg()), "text/plain": repr(self)}

    def _is_child(self, input: Any, config: RunnableConfig | None) -> bool:
        """Whether this is a child task of this solver's open run: `subtasks` hands over an attempt.

        A solver that a component of another one calls with its `Task` opens a run of its own.
        """
        if not (isinstance(input, Mapping) and input.get("attempt")):
            return False
        run = ensure_config(config).get("configurable", {}).get(RUN_KEY)
        return isinstance(run, Run) and run.graph is self


class _Opening:
    """What happens before a run: check and coerce the input, read the thread, make the run."""

    def __init__(self, solver: RecursiveSolver, input: Any, config: RunnableConfig | None) -> None:
        self.solver = solver
        self.given = config or {}
        self.config = effective(solver, self.given)
        self.conf = self.config.get("configurable", {})
        self.saver = solver._resolve_checkpointer(self.config)
        self.namespace = str(self.conf.get("checkpoint_ns", ""))
        self.input = _coerced(input, solver.policy, solver.parts)
        self.resuming = input is None or (isinstance(input, Command) and input.resume is not None)
        if self.saver and not self.conf.get("thread_id"):
            raise MissingThreadError(
                "a checkpointer is set, so the config needs a thread: "
                "config={'configurable': {'thread_id': 'my-thread'}}",
                field="thread_id",
            )
        if self.resuming and not self.saver:
            raise UnknownThreadError("there is no checkpointer, so there is nothing to resume", field="checkpointer")

    def read(self) -> list[CheckpointTuple]:
        """Read the thread with a sync saver, if there is something to carry on."""
        saver = self.saver
        assert saver is not None
        loop = getattr(saver, "loop", None)
        if isinstance(loop, asyncio.AbstractEventLoop) and not loop.is_running():
            raise self._wrong("invoke and stream", "a sync one")
        try:
            latest = saver.get_tuple(self._at())
        except (NotImplementedError, asyncio.InvalidStateError) as error:
            raise self._wrong("invoke and stream", "a sync one") from error
        self._check(latest)
        return list(saver.list(self._thread())) if self._carries_on(latest) else []

    async def aread(self) -> list[CheckpointTuple]:
        """Read the thread with an async saver, if there is something to carry on."""
        saver = self.saver
        assert saver is not None
        try:
            latest = await saver.aget_tuple(self._at())
        except NotImplementedError as error:
            raise self._wrong("ainvoke and astream", "an async one") from error
        self._check(latest)
        return [entry async for entry in saver.alist(self._thread())] if self._carries_on(latest) else []

    def _at(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.conf["thread_id"], "checkpoint_ns": self.namespace}}

    def _thread(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.conf["thread_id"]}}

    def _wrong(self, calls: str, kind: str) -> WrongSaverError:
        return WrongSaverError(
            f"{type(self.saver).__name__} does not serve {calls}: use {kind}, or open_sqlite, which serves both",
            field="checkpointer",
            value=type(self.saver).__name__,
        )

    def _check(self, latest: CheckpointTuple | None) -> None:
        """Refuse to resume what was never stored or has ended.

        Raises:
            UnknownThreadError: Nothing is stored under this thread.
            FinishedThreadError: Its last run has ended.
        """
        if not self.resuming or self.namespace:
            return
        thread = self.conf["thread_id"]
        if latest is None:
            raise UnknownThreadError(
                f"thread {thread!r} has no checkpoint, so there is nothing to resume: give it its task",
                field="thread_id",
                value=str(thread),
            )
        if _ended(latest):
            raise FinishedThreadError(
                f"the last run of thread {thread!r} has ended: give it a new task, or read its state",
                field="thread_id",
                value=str(thread),
            )

    def _carries_on(self, latest: CheckpointTuple | None) -> bool:
        # An embedded solver gets its input again on a resume, so there only the checkpoint tells. And what a run spent
        # that a new task leaves unfinished belongs to the thread's total.
        return latest is not None and (self.resuming or bool(self.namespace) or not _ended(latest))

    def opened(self, checkpoints: list[CheckpointTuple]) -> RunnableConfig:
        """The config of the run, with the `Run` in it.

        LangGraph's own `max_concurrency` would hold a node's place while its calls wait for one and deadlock, so it
        becomes the run's width. Its recursion limit is per task's graph, and is raised to what the policy may need.
        """
        known = records(checkpoints, under=self.namespace)
        spent = spent_by_run(known)
        policy = self.solver.policy
        if self.resuming or self.namespace:  # a new task on the thread has the solver's own limits
            policy = raised_policy(policy, known)
        width = self.config.get("max_concurrency")
        if width is None or width == _THREADS:  # the latter is what an outer solver's run sets
            width = policy.max_concurrency
        run = Run(
            self.solver,
            width=width,
            policy=policy,
            stored_tasks=stored_tasks(checkpoints) if self.saver is not None else None,
            history=spent.usage,
            traces=spent.traces,
            reads=spent.reads,
            thread_id=str(self.conf["thread_id"]) if self.conf.get("thread_id") else None,
        )
        config: RunnableConfig = {
            "configurable": {RUN_KEY: run},
            "recursion_limit": max(self.config["recursion_limit"], policy.recursion_limit),
            "max_concurrency": _THREADS,
        }
        return merge(self.given, config)


def _lacks_traces(result: Any) -> bool:
    """Whether a run was killed between its last node and its last checkpoint: only its traces are not stored."""
    return isinstance(result, dict) and result.get("report") is not None and "traces" not in result


def _last_traces(checkpoints: Iterable[CheckpointTuple]) -> list[SolveTrace]:
    """The traces of a thread's last run, in order."""
    traces = spent_by_run(records(checkpoints)).traces
    return sorted(traces[max(traces)], key=lambda entry: entry.time)


def merge(first: RunnableConfig | None, second: RunnableConfig | None) -> RunnableConfig:
    """Merge two configs; the second wins, `configurable` key by key."""
    one, two = first or {}, second or {}
    merged = {**one, **two}
    merged["configurable"] = {**one.get("configurable", {}), **two.get("configurable", {})}
    return cast(RunnableConfig, merged)


def effective(graph: CompiledStateGraph[Any, Any, Any, Any], given: RunnableConfig) -> RunnableConfig:
    """The config of the run: as in LangGraph, one that names no checkpoint adds to that of the node it is called in."""
    own = merge(graph.config, given)
    if not any(own["configurable"].get(key) for key in _CHECKPOINT_KEYS):
        own = merge(ensure_config(), own)
    return ensure_config(own)


def _ended(latest: CheckpointTuple) -> bool:
    """Whether the last run on a thread has ended: it has a result, and nothing was written since."""
    state = latest.checkpoint["channel_values"].get("state")
    return not writes_since(latest) and state is not None and TaskState.model_validate(state).ended


def _coerced(input: Any, policy: SolvePolicy, parts: Components) -> Any:
    """Bring any form of task into the graph's input, and refuse a bad one before anything runs.

    Raises:
        InvalidInputError: There is no task in it, or the task breaks a rule.
    """
    if isinstance(input, Command) and input == Command():
        raise InvalidInputError(
            "Command(resume=None) answers nothing: give Command(resume=...) another value, or None alone to carry on",
            field="resume",
        )
    if input is None or isinstance(input, Command):
        return input
    values = {name: value for name, value in _as_input(input).items() if name not in ("attempt", "seed")}
    if isinstance(values.get("task"), Task):  # another solver's; here it is a task like any other text
        values["task"] = str(values["task"])
    messages = _messages(values.get("messages") or [])
    if values.get("task") is not None or last_human_text(messages) is not None or not messages:
        parts.validators.check(read_task(values.get("task"), messages, values.get("task_id"), policy))
    return {name: plain(value) for name, value in values.items()}


def _messages(given: Any) -> list[BaseMessage]:
    try:
        return convert_to_messages(given if isinstance(given, list | tuple) else [given])
    except (ValueError, TypeError, NotImplementedError) as error:
        raise InvalidInputError(f"messages: {str(error).splitlines()[0]}", field="messages", value=given) from error


def _as_input(input: Any) -> dict[str, Any]:
    if isinstance(input, Mapping) and not _is_task_data(input):
        return dict(input)
    if isinstance(input, PromptValue):
        return {"messages": input.to_messages()}
    if isinstance(input, BaseMessage):
        return {"messages": [input]}
    if isinstance(input, list):
        return {"messages": input}
    if isinstance(input, str | TaskBrief | RootTaskAnchor | Task | Mapping):
        return {"task": input}
    raise InvalidInputError(
        f"input is of type {type(input).__name__}: "
        "give a str, TaskBrief, RootTaskAnchor, messages, or a dict with 'task'",
        field="input",
        value=input,
    )


def _is_task_data(values: Mapping[str, Any]) -> bool:
    """Whether a mapping is a brief or anchor as plain data, rather than the graph's input."""
    return "objective" in values and "completion_criteria" in values
