"""The simple agent's graph: it thinks, calls tools, and judges whether it has come to an end."""

from __future__ import annotations

import asyncio
import functools
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Annotated, Any, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.channels import EphemeralValue
from langgraph.config import get_stream_writer
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from langgraph_recursive.nodes.context import current_context
from langgraph_recursive.nodes.conversions import message_text, well_formed
from langgraph_recursive.nodes.effects import Body, Invoke, Start, adrive, drive, gather
from langgraph_recursive.nodes.intake import last_human_text
from langgraph_recursive.nodes.listener import Listener
from langgraph_recursive.nodes.parts.tool_calls import CheckTools, ToolCalls, numbered, refused
from langgraph_recursive.nodes.retry import is_transient
from langgraph_recursive.nodes.run import Slots, TakeSlot, TaskStopped
from langgraph_recursive.state.channels import Record, Written
from langgraph_recursive.state.errors import CallTimeoutError, RecursiveSolverError, UnknownThreadError
from langgraph_recursive.state.event import Event
from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.goal_state import (
    AgentEvent,
    AgentResult,
    AgentStatus,
    GoalAchievedEvent,
    GoalExhaustedEvent,
    GoalFailedEvent,
    GoalState,
    GoalSubmittedEvent,
    IterationCompletedEvent,
    TimeoutEvent,
)
from langgraph_recursive.state.ids import ROOT_ID

from .events import AgentEmitter, LoopDelivery, ThreadDelivery
from .route import Route

__all__ = ("AGENT_RUN", "AgentInput", "AgentOutput", "AgentRun", "AgentState", "Machine", "nothing_there", "prompt")

AGENT_RUN = "__simple_agent_run"
_SAVER = "__pregel_checkpointer"
_ERROR_CHARS = 1_000
_SHOWN_CHARS = 1_000
_TRIES = 3
_FIRST_WAIT = 0.5

Update = dict[str, Any]

_ENDINGS: dict[AgentStatus, type[AgentEvent]] = {
    "achieved": GoalAchievedEvent,
    "failed": GoalFailedEvent,
    "exhausted": GoalExhaustedEvent,
    "timed_out": TimeoutEvent,
}


def nothing_there() -> UnknownThreadError:
    """The error of a run that has neither a goal nor anything to resume."""
    return UnknownThreadError("there is nothing to resume: give a goal", field="thread_id")


@cache
def prompt(name: str) -> str:
    """Read one of the agent's prompts, once."""
    return resources.files(f"{__package__}.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()


class AgentInput(TypedDict, total=False):
    """What a run is given: a goal, or a conversation whose last human message is the goal."""

    goal: Annotated[str | None, EphemeralValue]
    messages: Annotated[list[AnyMessage], add_messages]


class AgentOutput(TypedDict, total=False):
    """What a run gives back: the fields of AgentResult, and the answer as a message."""

    success: bool
    solution: str | None
    status: str
    reason: str
    iterations: int
    messages: Annotated[list[AnyMessage], add_messages]


class AgentState(AgentInput, AgentOutput, total=False):
    """The channels of the graph. `conversation` is the one with the model, tools included."""

    goal_state: Annotated[GoalState, Record]
    conversation: list[AnyMessage]


@dataclass
class AgentRun:
    """One run of the agent, in this process.

    Attributes:
        emitters: Who handles its events.
        delivery: How the handlers get them.
        slots: Places for tool calls.
        id: Its id in events.
    """

    emitters: Sequence[AgentEmitter]
    delivery: ThreadDelivery | LoopDelivery
    slots: Slots
    id: str = field(default_factory=lambda: str(uuid.uuid4()))


class _Step:
    """One execution of a node: what it reads, what it tells, what it stores."""

    def __init__(
        self,
        values: Mapping[str, Any],
        config: RunnableConfig,
        timeout: float | None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.listener = Listener(get_stream_writer(), config, loop)
        configurable = config.get("configurable", {})
        self.run: AgentRun = configurable[AGENT_RUN]
        self.values = values
        self.goal = GoalState.model_validate(values.get("goal_state") or GoalState())
        self.conversation: list[AnyMessage] = values.get("conversation") or []
        self.started = time.monotonic()
        self.until = None if timeout is None else self.started + timeout - self.goal.elapsed
        self.calls_above = "|" in configurable.get("checkpoint_ns", "") and configurable.get(_SAVER) is not None

    @property
    def remaining(self) -> float | None:
        """Seconds that are left; None when there is no limit."""
        return None if self.until is None else self.until - time.monotonic()

    def tell(self, kind: type[AgentEvent], state: GoalState, **more: Any) -> None:
        """Tell who subscribed, who streams, and callbacks what happened."""
        event = kind(run_id=self.run.id, time=time.time(), state=state, **more)
        for emitter in self.run.emitters:
            for handler in emitter.handlers(event):
                self.run.delivery.put(handler, event)
        seconds = state.elapsed + time.monotonic() - self.started
        data: dict[str, Any] = {
            "goal": _shown(state.goal),
            "iteration": state.iteration,
            "solution": _shown(state.solution),
            "status": state.status,
            "reason": state.reason,
        }
        context = current_context()
        if context is not None and context.task is not None:  # as a part of a solver it speaks of that solver's task
            context.emit(event.kind, seconds=seconds, **data)
            return
        self.listener.tell(
            Event(
                type=event.kind,
                run_id=event.run_id,
                task_id=ROOT_ID,
                parent_id=None,
                attempt=1,
                depth=0,
                time=event.time,
                duration_ms=round(seconds * 1000),
                usage=None,
                data=data,
            )
        )

    def ended(self, status: AgentStatus, reason: str = "") -> GoalState:
        """End the goal."""
        state = self.goal.model_copy(update={"status": status, "reason": reason})
        self.tell(_ENDINGS[status], state)
        return state

    def interrupted(self, interrupt: GraphInterrupt) -> GraphInterrupt:
        """The interrupt to raise: the calls have recorded theirs, and a nested graph would show them again."""
        return GraphInterrupt(()) if self.calls_above else interrupt


def _shown(text: str | None) -> str | None:
    return None if text is None else bounded(text, limit=_SHOWN_CHARS).text


class Machine:
    """The nodes.

    Args:
        name: The agent's name, which its answers carry.
        model: The model, its tools bound.
        calls: Makes tool calls; None without tools.
        system_prompt: What the model is told first.
        max_iterations: Replies without tool calls.
        max_tool_rounds: Rounds of tool calls in one iteration.
        timeout: Seconds in all; None for no limit.
    """

    def __init__(
        self,
        *,
        name: str,
        model: Runnable[Any, Any],
        calls: ToolCalls | None,
        system_prompt: str,
        max_iterations: int,
        max_tool_rounds: int,
        timeout: float | None,
    ) -> None:
        self.name = name
        self.model = model
        self.calls = calls
        self.system_prompt = system_prompt
        self.max_iterations = max_iterations
        self.max_tool_rounds = max_tool_rounds
        self.timeout = timeout

    @property
    def steps(self) -> int:
        """Steps that the graph may need at most."""
        return 2 + self.max_iterations * (2 * self.max_tool_rounds + 2)

    def graph(self) -> StateGraph[AgentState, None, AgentInput, AgentOutput]:
        """Wire the nodes."""
        graph = StateGraph(AgentState, input_schema=AgentInput, output_schema=AgentOutput)
        for body in (self.submit, self.think, self.tools, self.judge):
            graph.add_node(body.__name__, cast(Any, _Node(self, body)))
        graph.add_edge(START, "submit")
        graph.add_edge("submit", "think")
        graph.add_conditional_edges("think", Route(self.after_think), ["tools", "judge", END])
        graph.add_conditional_edges("tools", Route(after_tools), ["think", END])
        graph.add_conditional_edges("judge", Route(after_judge), ["think", END])
        return graph

    def after_think(self, values: Mapping[str, Any]) -> str:
        """Where a reply goes: its tool calls are made while rounds are left, and it is judged otherwise."""
        state: GoalState = values["goal_state"]
        if state.ended:
            return END
        return "tools" if _asks_for_tools(values["conversation"][-1]) and self._has_rounds(state) else "judge"

    def _has_rounds(self, state: GoalState) -> bool:
        return self.calls is not None and state.rounds < self.max_tool_rounds

    async def submit(self, step: _Step) -> Update:
        """Take a goal in."""
        given: list[AnyMessage] = step.values.get("messages") or []
        goal = step.values.get("goal")
        said: Sequence[AnyMessage] = given if goal is None else [*given, HumanMessage(goal)]
        text = goal if goal is not None else last_human_text(given)
        if text is None:  # a Command to resume a thread that is not there
            raise nothing_there()
        state = GoalState(goal=well_formed(text))
        step.goal = state
        step.tell(GoalSubmittedEvent, state)
        system = SystemMessage("\n\n".join(filter(None, [self.system_prompt, prompt("rules")])))
        return {"goal_state": state, "conversation": [system, *said]}

    async def think(self, step: _Step) -> Update:
        """Ask the model; what goes wrong ends the goal."""
        await CheckTools(self.calls.tools if self.calls else ())
        try:
            reply = await self._asked(step)
        except CallTimeoutError:
            return self._timed_out(step)
        except (GraphBubbleUp, TaskStopped, RecursiveSolverError):
            raise
        except Exception as error:  # noqa: BLE001 - a work failure is an outcome
            what = bounded(f"{type(error).__name__}: {error}", limit=_ERROR_CHARS).text
            return {"goal_state": step.ended("failed", f"the model could not be called: {what}")}
        made = sum(len(message.tool_calls) for message in step.conversation if isinstance(message, AIMessage))
        return {"goal_state": step.goal, "conversation": [*step.conversation, numbered(reply, made)]}

    async def _asked(self, step: _Step) -> AIMessage:
        tries = 1
        while True:
            remaining = step.remaining
            if remaining is not None and remaining <= 0:
                raise CallTimeoutError("the agent's time is up")
            try:
                reply = await Invoke(self.model, step.conversation, timeout=remaining)
            except Exception as error:
                if tries == _TRIES or not is_transient(error):
                    raise
            else:
                return reply if isinstance(reply, AIMessage) else AIMessage(str(message_text(reply)))
            wait = _FIRST_WAIT * 2 ** (tries - 1)
            await Invoke(asyncio.sleep, wait if remaining is None else min(wait, remaining))
            tries += 1

    def _timed_out(self, step: _Step) -> Update:
        return {"goal_state": step.ended("timed_out", f"timeout = {self.timeout:g} s: the time is up")}

    async def tools(self, step: _Step) -> Update:
        """Make the calls of the last reply side by side, each durable by itself."""
        reply, history = cast(AIMessage, step.conversation[-1]), step.conversation[:-1]
        bodies = [functools.partial(self._called, step, history, reply, call) for call in reply.tool_calls]
        records = await gather([await Start("tool", body) for body in bodies])
        if not all(records):
            return self._timed_out(step)
        state = step.goal.model_copy(update={"rounds": step.goal.rounds + 1})
        results = [message for record in records for message in record]
        broken = [refused(call) for call in reply.invalid_tool_calls]
        return {"goal_state": state, "conversation": [*step.conversation, *results, *broken]}

    async def _called(
        self, step: _Step, history: Sequence[BaseMessage], reply: AIMessage, call: Any
    ) -> list[ToolMessage]:
        """Make one call; nothing comes back when the time is up first."""
        calls = cast(ToolCalls, self.calls)
        give = await TakeSlot(step.run.slots, lambda: None)
        try:
            remaining = step.remaining
            limit = None if remaining is None else max(0.001, remaining)
            return [await Invoke(calls, calls.input(history, reply, call), timeout=limit)]
        except CallTimeoutError:
            return []
        finally:
            give()

    async def judge(self, step: _Step) -> Update:
        """Complete an iteration, and decide whether it was the last."""
        reply = cast(AIMessage, step.conversation[-1])
        text = str(message_text(reply)).strip()
        said, calling = text.casefold(), _asks_for_tools(reply)
        asked: list[AnyMessage] = []
        status: AgentStatus = "working"
        solution = step.goal.solution
        if calling:
            asked = _not_called(reply)
        elif said == "done" and solution is not None:
            status = "achieved"
        elif said == "fail":
            status = "failed"
        elif said in ("", "done"):
            asked = [HumanMessage(prompt("answer_missing" if solution is None else "go_on"))]
        else:
            solution, asked = text, [HumanMessage(prompt("go_on"))]
        done = step.goal.model_copy(update={"iteration": step.goal.iteration + 1, "solution": solution, "rounds": 0})
        step.goal = done
        step.tell(IterationCompletedEvent, done, response=text)
        if status == "working" and done.iteration >= self.max_iterations:
            status = "exhausted"
        if status == "working":
            return {"goal_state": done, "conversation": [*step.conversation, *asked]}
        return {"goal_state": step.ended(status, self._reason(status))}

    def _reason(self, status: AgentStatus) -> str:
        if status == "failed":
            return "the model replied FAIL"
        return f"max_iterations = {self.max_iterations}: no answer was called final" if status == "exhausted" else ""

    def finished(self, step: _Step, update: Update) -> dict[str, Any]:
        """What a node stores: the goal's state, the outputs, and at the end the answer as a message."""
        state: GoalState = update["goal_state"]
        state = state.model_copy(update={"elapsed": state.elapsed + time.monotonic() - step.started})
        result = AgentResult.of(state)
        messages = {"messages": [self._message(result, step)]} if state.ended else {}
        return {**update, "goal_state": Written(state), **result.model_dump(), **messages}

    def _message(self, result: AgentResult, step: _Step) -> AIMessage:
        """The answer, with the id of the reply it is, or why there is none: hosts read nothing but text.

        Not an id that the host's conversation has already, as a cached model may give: it would take that place.
        """
        if result.success:
            known = {message.id for message in step.values.get("messages") or []}
            own = [message for message in step.conversation if isinstance(message, AIMessage)]
            ids = [message.id for message in own if str(message_text(message)).strip() == result.solution]
            return AIMessage(
                str(result.solution), name=self.name, id=next((one for one in ids[::-1] if one not in known), None)
            )
        best = f"\n\nThe best answer so far:\n{result.solution}" if result.solution else ""
        return AIMessage(f"The goal was not achieved ({result.status}): {result.reason}{best}", name=self.name)


def _asks_for_tools(message: AnyMessage) -> bool:
    return isinstance(message, AIMessage) and bool(message.tool_calls or message.invalid_tool_calls)


def _not_called(reply: AIMessage) -> list[AnyMessage]:
    """Answer calls that are not made: a provider refuses a history in which a call has no result."""
    text = prompt("no_more_calls")
    return [
        ToolMessage(text, name=call["name"] or "", tool_call_id=call["id"], status="error")
        for call in [*reply.tool_calls, *reply.invalid_tool_calls]
    ]


def after_tools(values: Mapping[str, Any]) -> str:
    """Think about what the tools returned."""
    return END if values["goal_state"].ended else "think"


def after_judge(values: Mapping[str, Any]) -> str:
    """Go on until the goal has ended."""
    return END if values["goal_state"].ended else "think"


class _Node(Runnable[dict[str, Any], dict[str, Any]]):
    """A node as LangGraph runs it: one body for sync and async."""

    def __init__(self, machine: Machine, body: Callable[[_Step], Body[Update]]) -> None:
        self.machine = machine
        self.body = body
        self.name = body.__name__

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Run the body in this thread."""
        step = _Step(input, config or {}, self.machine.timeout)
        try:
            return self.machine.finished(step, drive(self.body(step)))
        except GraphInterrupt as interrupt:
            raise step.interrupted(interrupt) from None

    async def ainvoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Run the body on the event loop."""
        step = _Step(input, config or {}, self.machine.timeout, asyncio.get_running_loop())
        try:
            update = self.machine.finished(step, await adrive(self.body(step)))
            await step.listener.told()
            return update
        except GraphInterrupt as interrupt:
            raise step.interrupted(interrupt) from None
