"""The playing parent: one tool-calling conversation that plans a task, reviews its children and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field, ValidationError

from langgraph_recursive.state._model import FilledText, Given, Texts
from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.brief import SubTask, TaskBrief
from langgraph_recursive.state.decisions import ReviewContext
from langgraph_recursive.state.errors import ComponentError, UnparsableOutputError, invalid_fields
from langgraph_recursive.state.report import (
    ArtifactRef,
    NextStepSuggestion,
    ReportOutcome,
    TaskReport,
    Validation,
)
from langgraph_recursive.state.review import ReviewDecision, TaskReview
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.task_state import NextAction, NodeName
from langgraph_recursive.state.verdict import ValidationResult

from ..components import Part, inline
from ..context import Context, current_context, invoke
from .aggregators import Missing, aggregation_prompt
from .ask import checked_count, fenced, filled, inputs_of, prompt_text, spec_of, together
from .context_reader import context_refs_of, reader_tools
from .reviewers import review_material
from .tool_calls import CheckTools, ToolCalls, Tools, numbered, tool_node, with_readers

__all__ = ("AgentParent", "agent_parent")

_Arguments = TypeVar("_Arguments", bound=BaseModel)

_AGENT = "agent"
_REPORT = "submit_task_report"
_REVIEW = "review_task_result"


class AgentCall(Given):
    """Start a sub-task, or go on with one whose revision was approved."""

    task_brief: TaskBrief
    continue_from: str | None = Field(None, description="The sub-task to go on with; only after its revision.")


class ReportCall(Given):
    """Report on your task."""

    summary: FilledText
    outcome: ReportOutcome
    validation: Validation = Field(default_factory=Validation)
    next_step_suggestion: NextStepSuggestion = Field(default_factory=NextStepSuggestion)
    outputs: list[dict[str, Any]] = Field(default_factory=list, description='The answer: [{"text": ...}].')
    evidence: list[dict[str, Any]] = Field(default_factory=list)
    artifact_refs: list[ArtifactRef] = Field(default_factory=list)
    source_urls: Texts = Field(default_factory=list)
    remaining_issues: Texts = Field(default_factory=list)


class ReviewCall(Given):
    """Decide on the report of a sub-task."""

    child_task_id: str
    decision: ReviewDecision
    reason: FilledText
    approved_next_task: TaskBrief | None = None


def _tool(name: str, arguments: type[BaseModel]) -> BaseTool:
    # It is never run: the gate reads the call.
    return StructuredTool(name=name, description=arguments.__doc__ or "", args_schema=arguments, func=lambda: None)


_TOOLS = {
    _AGENT: _tool(_AGENT, AgentCall),
    _REPORT: _tool(_REPORT, ReportCall),
    _REVIEW: _tool(_REVIEW, ReviewCall),
}


class Refused(Exception):  # noqa: N818 - becomes the message that answers a call
    """A call that the gate does not let through."""


@dataclass(frozen=True)
class Gate:
    """What may be called at one node.

    Attributes:
        at: The node.
        offers: Names of the protocol's tools that are offered.
        read: Reads a legal call of one of them, or raises `Refused`.
        working: Whether the application's tools are offered too.
    """

    at: NodeName
    offers: tuple[str, ...]
    read: Callable[[ToolCall], Any]
    working: bool = False


@dataclass(frozen=True)
class Move:
    """A legal call, and what was read from it."""

    name: str
    value: Any


def agent_parent(
    model: BaseChatModel, tools: Tools = (), *, readers: Sequence[BaseTool] = (), max_tool_rounds: int = 8
) -> AgentParent:
    """Make a parent that plays its task's whole protocol in one tool-calling conversation.

    It plans, reviews, combines, and answers itself what it does not split. So it is not a further argument of
    `create_recursive_solver` but a bundle that fills the roles there are, each of which can still be replaced:

        create_recursive_solver(**agent_parent(model).roles())

    At each node it is offered exactly the tools of that gate: `agent` and `submit_task_report` for a plan or an answer,
    `review_task_result` for a report, `agent` alone for what a review approved, `submit_task_report` alone to combine.
    Any other call is answered with an error message and changes nothing. Without a legal call after two corrections the
    task ends with a `protocol_error` report. Its messages are a channel of the task's own graph, and every model call
    is durable by itself.

    Args:
        model: A chat model that can call tools.
        tools: Tools for the work itself, offered where it may answer.
        readers: Tools offered at every gate. `read_context_ref` is, where its task's brief grants references.
        max_tool_rounds: How often it may call those tools before it has to make a move.

    Raises:
        ComponentError: The model cannot call tools, or a tool is neither a tool nor a function.
        InvalidInputError: `max_tool_rounds` is not a whole number of at least 1.
    """
    return AgentParent(model, tools, readers, max_tool_rounds)


class AgentParent:
    """One conversation per task; made by `agent_parent`.

    Attributes:
        decomposer: Plans, or answers at once.
        solver: Hands over what it answered at once, or answers.
        reviewer: Reviews a report, and starts what a review approved.
        aggregator: Combines.
    """

    def __init__(self, model: BaseChatModel, tools: Tools, readers: Sequence[BaseTool], rounds: int) -> None:
        if not isinstance(model, BaseChatModel):
            raise ComponentError(f"agent_parent: model = {model!r} is not a chat model", field="model", value=model)
        self.model = model
        self.rounds = checked_count(rounds, "max_tool_rounds", least=1)
        self.readers = ToolCalls(tool_node(readers)) if readers else None
        self.workers = ToolCalls(tool_node([*tools, *readers])) if tools or readers else None
        self.decomposer = _Decomposer(self)
        self.solver = _Solver(self)
        self.reviewer = _Reviewer(self)
        self.aggregator = _Aggregator(self)

    def roles(self) -> dict[str, Any]:
        """The arguments of `create_recursive_solver` that it fills."""
        return {
            "atomizer": _never,
            "decomposer": self.decomposer,
            "solver": self.solver,
            "reviewer": self.reviewer,
            "aggregator": self.aggregator,
        }

    async def move(self, gate: Gate, task: Task, said: str) -> list[Move]:
        """Say something and wait for a legal move.

        Args:
            gate: What may be called.
            task: The attempt at work.
            said: The message.

        Returns:
            The legal calls of one message, in order; at least one.

        Raises:
            UnparsableOutputError: There was none. The caller asks again, at most twice.
        """
        context = _running()
        talk = _Talk(context)
        if not talk.messages:
            talk.say(SystemMessage(prompt_text("parent")))
        names = ", ".join(f"`{name}`" for name in gate.offers)
        talk.ask(f"{said}\n\nUse {names} now, and no other tool of the protocol.", task, gate)
        calls = with_readers(self.workers if gate.working else self.readers, reader_tools(task))
        await CheckTools(calls.tools if calls else ())
        bound = self.model.bind_tools([*(_TOOLS[name] for name in gate.offers), *(calls.tools if calls else ())])
        for _ in range(self.rounds + 1):
            reply = numbered(await invoke("parent", bound, talk.messages), len(talk.messages))
            moves = await self._answered(gate, calls, talk, reply, task)
            if moves is not None:
                return moves
        raise UnparsableOutputError(f"no move after {self.rounds} rounds of tool calls: use {names}")

    async def _answered(
        self, gate: Gate, calls: ToolCalls | None, talk: _Talk, reply: AIMessage, task: Task
    ) -> list[Move] | None:
        """Answer every call of a message; its moves, or None when it only used other tools."""
        before = list(talk.messages)
        talk.say(reply)
        known = {tool.name for tool in calls.tools} if calls else set()
        moves, faults, worked = [], [], []
        for call in reply.tool_calls:
            if call["name"] in known:
                worked.append(call)
                continue
            try:
                moves.append(Move(call["name"], _read(gate, call)))
                talk.answer(call, "Done: what follows comes next.", task)
            except Refused as refusal:
                faults.append(f"{call['name']}: {refusal}")
                talk.answer(call, f"Error: {refusal}", task, status="error")
        for broken in reply.invalid_tool_calls:
            faults.append(f"{broken['name']}: its arguments are not valid JSON")
            talk.answer(broken, "Error: the arguments of this call are not valid JSON", task, status="error")
        if calls is not None and worked:
            for result in await together("tool", [(calls, calls.input(before, reply, call)) for call in worked]):
                talk.say(result)
        if moves and not faults:
            return moves
        if worked and not faults:
            return None
        raise UnparsableOutputError("; ".join(faults) or "no tool was called", value=str(reply.text))


def _read(gate: Gate, call: ToolCall) -> Any:
    if call["name"] not in gate.offers:
        raise Refused(f"not possible now; possible is: {', '.join(gate.offers)}")
    return gate.read(call)


def _arguments(kind: type[_Arguments], call: ToolCall) -> _Arguments:
    try:
        return kind.model_validate(call["args"])
    except ValidationError as error:
        raise Refused(invalid_fields(call["name"], error)) from error


def _running() -> Context:
    context = current_context()
    if context is None:
        raise RuntimeError(
            "agent_parent plays only inside a run: create_recursive_solver(**agent_parent(model).roles())"
        )
    return context


class _Talk:
    """The conversation of the task at work: what is stored, and what this node has added so far."""

    def __init__(self, context: Context) -> None:
        self.stored: Sequence[BaseMessage] = context.given.get("parent_messages") or []
        self.added = context.said

    @property
    def messages(self) -> list[BaseMessage]:
        return [*self.stored, *self.added]

    def say(self, message: BaseMessage) -> None:
        self.added.append(message)

    def ask(self, text: str, task: Task, gate: Gate) -> None:
        """Ask for a move; the question remembers in which attempt and at which node, so that a rewind finds it."""
        self.say(HumanMessage(text, additional_kwargs={"task": task.id, "at": gate.at}))

    def answer(self, call: Mapping[str, Any], text: str, task: Task, status: str = "success") -> None:
        """Answer a call; the answer remembers in which attempt it was made."""
        self.say(
            ToolMessage(
                text,
                name=call["name"] or "",
                tool_call_id=call["id"],
                status=status,
                additional_kwargs={"task": task.id},
            )
        )

    def submitted(self, task: Task) -> TaskReport | None:
        """The report with which this attempt was answered at once, if it was."""
        *_, asked, answer = [None, None, *self.messages]
        if not (isinstance(asked, AIMessage) and isinstance(answer, ToolMessage)):
            return None
        if answer.status != "success" or answer.name != _REPORT or answer.additional_kwargs.get("task") != task.id:
            return None
        call = next(call for call in asked.tool_calls if call["id"] == answer.tool_call_id)
        return _report(call)


def _report(call: ToolCall) -> TaskReport:
    arguments = _arguments(ReportCall, call)
    try:
        return TaskReport.model_validate(arguments.model_dump())
    except ValidationError as error:
        raise Refused(invalid_fields(_REPORT, error)) from error


@inline
def _never(task: Task) -> bool:
    """The parent itself decides whether to split."""
    return False


class _Decomposer(Part):
    """Plans the task, or answers it at once.

    Attributes:
        plans_with_model: A failed child may be planned anew: a model may find another plan.
    """

    name = "agent_parent"
    plans_with_model = True

    def __init__(self, parent: AgentParent) -> None:
        self.parent = parent

    async def run(self, task: Task, depth: int, *, complaint: str | None = None) -> list[SubTask]:
        """Ask for a plan; an answer instead is an empty one."""
        moves = await self.parent.move(
            Gate("decompose", (_AGENT, _REPORT), _planning, working=True), task, _asked(task, complaint)
        )
        plan = [SubTask(move.value) for move in moves if move.name == _AGENT]
        if plan and len(plan) < len(moves):
            raise UnparsableOutputError("either start sub-tasks or report, not both in one message")
        if len(moves) > 1 and not plan:
            raise UnparsableOutputError("report once")
        return plan


def _planning(call: ToolCall) -> Any:
    if call["name"] == _REPORT:
        return _report(call)
    arguments = _arguments(AgentCall, call)
    if arguments.continue_from is not None:
        raise Refused("continue_from needs an approved revision; leave it out to start a new sub-task")
    return arguments.task_brief


def _asked(task: Task, complaint: str | None) -> str:
    if complaint:
        return f"That could not be used: {complaint}"
    return "\n\n".join(filter(None, [spec_of(task), inputs_of(task), context_refs_of(task)]))


def _reporting(call: ToolCall) -> TaskReport:
    return _report(call)


class _Solver(Part):
    """Hands over the report with which the plan was answered, else asks for one."""

    name = "agent_parent"

    def __init__(self, parent: AgentParent) -> None:
        self.parent = parent

    async def run(self, task: Task, *, complaint: str | None = None) -> TaskReport:
        """Answer the task without sub-tasks."""
        known = _Talk(_running()).submitted(task)
        if known is not None and complaint is None:
            return known
        moves = await self.parent.move(
            Gate("solve", (_REPORT,), _reporting, working=True), task, _asked(task, complaint)
        )
        return _only(moves)


class _Aggregator(Part):
    """Combines what was accepted."""

    name = "agent_parent"

    def __init__(self, parent: AgentParent) -> None:
        self.parent = parent

    async def run(
        self, task: Task, results: Sequence[Answer], *, missing: Missing = (), complaint: str | None = None
    ) -> TaskReport:
        """Ask for the combined report."""
        said = _asked(task, complaint) if complaint else aggregation_prompt(task, results, missing)
        return _only(await self.parent.move(Gate("aggregate", (_REPORT,), _reporting), task, said))


def _only(moves: Sequence[Move]) -> TaskReport:
    if len(moves) > 1:
        raise UnparsableOutputError("report once")
    report: TaskReport = moves[0].value
    return report


class _Reviewer(Part):
    """Reviews one report, and starts what reviews approved.

    Attributes:
        asks: How often it is asked about one report, the first time included.
    """

    name = "agent_parent"
    asks: int | None = 3

    def __init__(self, parent: AgentParent) -> None:
        self.parent = parent
        self.launcher = _Launcher(parent)

    async def run(
        self, report: TaskReport, result: ValidationResult, ctx: ReviewContext, *, complaint: str | None = None
    ) -> TaskReview:
        """Ask for the decision."""

        def reviewing(call: ToolCall) -> TaskReview:
            arguments = _arguments(ReviewCall, call)
            if arguments.child_task_id != report.child_task_id:
                raise Refused(f"the report to review is that of {report.child_task_id}")
            if arguments.decision not in ctx.allowed:
                raise Refused(f"{arguments.decision} is not allowed: {', '.join(sorted(ctx.allowed))}")
            return TaskReview.model_validate(arguments.model_dump())

        said = f"That could not be used: {complaint}" if complaint else _to_review(report, result, ctx)
        moves = await self.parent.move(Gate("review", (_REVIEW,), reviewing), ctx.task, said)
        if len(moves) > 1:
            raise UnparsableOutputError("review one report once")
        review: TaskReview = moves[0].value
        return review


def _to_review(report: TaskReport, result: ValidationResult, ctx: ReviewContext) -> str:
    material = review_material(report, result, ctx)
    return filled(prompt_text("parent_review"), {"child": report.child_task_id, **material})


class _Launcher(Part):
    """Has each approved action started with exactly the brief that was approved."""

    name = "agent_parent"

    def __init__(self, parent: AgentParent) -> None:
        self.parent = parent

    async def run(self, task: Task, actions: Sequence[NextAction], *, complaint: str | None = None) -> bool:
        """Ask for the calls of `agent`, one for each action."""
        open_actions = list(actions)

        def starting(call: ToolCall) -> NextAction:
            arguments = _arguments(AgentCall, call)
            for action in open_actions:
                if _starts(action, arguments, task):
                    open_actions.remove(action)
                    return action
            raise Refused("this is not what was approved: use exactly the approved brief and continue_from")

        said = f"That could not be used: {complaint}\n\n{_approved(actions)}" if complaint else _approved(actions)
        await self.parent.move(Gate("review", (_AGENT,), starting), task, said)
        if open_actions:
            raise UnparsableOutputError(f"not started: {', '.join(action.child_id for action in open_actions)}")
        return True


def _starts(action: NextAction, arguments: AgentCall, task: Task) -> bool:
    wanted = _brief_of(action)
    if arguments.continue_from != (action.child_id if action.kind == "revise" else None):
        return False
    return wanted is None or arguments.task_brief.inherit(wanted.constraints).hash == wanted.hash


def _brief_of(action: NextAction) -> TaskBrief | None:
    if action.brief is not None or action.left is None:
        return action.brief
    return action.left.attempt.brief


def _approved(actions: Sequence[NextAction]) -> str:
    entries = ["Start what was approved, with exactly these arguments, all in one message:"]
    for action in actions:
        brief = _brief_of(action)
        going_on = f', "continue_from": "{action.child_id}"' if action.kind == "revise" else ""
        normalized = brief.normalized() if brief is not None else "{}"
        entries.append(fenced(f'{{"task_brief": {normalized}{going_on}}}', kind="approved"))
    return "\n\n".join(entries)
