"""A solver as a tool: LangChain's standard tests, and inside agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import get_runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from engine_kit import Solver, kept, split
from langgraph_recursive.graph import create_recursive_solver, solver_tool
from langgraph_recursive.nodes import accept, reject
from langgraph_recursive.state import RecursiveSolverError, TaskBrief
from langgraph_recursive.state.task import Task
from scripted import ScriptedChatModel, tool_call

Run = Callable[..., Any]

CONFIG = {"configurable": {"thread_id": "1"}}
CALL = {"name": "recursive_solver", "args": {"task": "w"}, "id": "c", "type": "tool_call"}


def tool(**parts: Any) -> BaseTool:
    return solver_tool(create_recursive_solver(**{"solver": lambda task: f"{task.brief.objective}!", **parts}))


class TestStandardUnit(ToolsUnitTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return tool()

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"task": "w"}


class TestStandardIntegration(ToolsIntegrationTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return tool()

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"task": "w"}


# By itself.


def test_the_message_has_the_answer_and_the_artifact_the_result_as_json(run: Run) -> None:
    message = run(tool(verifiers=[lambda attempt: attempt > 1 or reject("no")]), CALL)
    assert (message.content, message.status, message.name) == ("w!", "success", "recursive_solver")
    artifact = json.loads(json.dumps(message.artifact, allow_nan=False))
    assert (artifact["output"], artifact["success"], artifact["verified"]) == ("w!", True, True)
    assert [attempt["id"] for attempt in artifact["attempts"]] == ["t", "t_fix_1"]
    assert artifact["usage"]["calls"] == 4


def test_a_model_is_told_little() -> None:
    told = convert_to_openai_tool(tool())["function"]
    assert told["name"] == "recursive_solver"
    assert list(told["parameters"]["properties"]) == told["parameters"]["required"] == ["task"]
    assert len(json.dumps(told)) < 600


def test_a_model_that_it_is_bound_to_calls_it(run: Run) -> None:
    made = tool()
    model = ScriptedChatModel(answers=[tool_call("recursive_solver", task="w")], tools=True).bind_tools([made])
    assert run(made, run(model, "please").tool_calls[0]).content == "w!"


def test_a_sync_call_works_where_an_event_loop_is_running() -> None:
    async def cell() -> Any:
        return tool(decomposer=split({"w": ["a", "b"]})).invoke(CALL)

    assert asyncio.run(cell()).status == "success"


def test_name_and_description_may_be_given() -> None:
    made = solver_tool(create_recursive_solver(solver=Solver(), name="worker"), description="Does it.")
    assert (made.name, made.description) == ("worker", "Does it.")
    assert solver_tool(create_recursive_solver(solver=Solver()), name="mine").name == "mine"


def test_a_halt_is_a_tool_message_that_says_why_and_what_there_is(run: Run) -> None:
    message = run(tool(verifiers=[lambda: reject("too short")]), CALL)
    assert message.status == "error"
    assert "recovery_stalled" in message.content
    assert "- w: w!" in message.content


@pytest.mark.parametrize(
    ("parts", "args", "says"),
    [
        ({}, {"task": " "}, "task is empty"),
        ({"solver": lambda: 5}, {"task": "w"}, "ComponentError: solver 'solver' returned int 5"),
        ({"checkpointer": InMemorySaver()}, {"task": "w"}, "the config needs a thread"),
    ],
)
def test_an_error_is_a_tool_message(run: Run, parts: dict[str, Any], args: dict[str, Any], says: str) -> None:
    message = run(tool(**parts), {**CALL, "args": args})
    assert (message.status, says in message.content) == ("error", True)


def test_a_question_that_nobody_can_answer_is_an_error(run: Run) -> None:
    message = run(tool(solver=lambda: interrupt("which?"), checkpointer=InMemorySaver()), CALL, CONFIG)
    assert message.status == "error"
    assert 'asks ["which?"]' in message.content


def test_a_schema_of_ones_own_is_the_solvers_input(run: Run) -> None:
    solver = Solver()
    made = solver_tool(create_recursive_solver(solver=solver), args_schema=TaskBrief)
    args = {"objective": "o", "reason": "r", "completion_criteria": ["c"], "expected_outputs": ["text"]}
    assert run(made, {**CALL, "args": args}).content == "done"
    assert solver.tasks[0].brief.completion_criteria == ["c"]


def test_a_json_schema_may_be_given(run: Run) -> None:
    schema = {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"], "title": "T"}
    made = solver_tool(create_recursive_solver(solver=Solver()), description="Does it.", args_schema=schema)
    assert run(made, CALL).content == "done"


class Topic(BaseModel):
    topic: str


class Attempted(BaseModel):
    task: str
    attempt: int


@pytest.mark.parametrize("schema", [Topic, Attempted])
def test_a_schema_that_the_solver_would_not_read_is_refused(schema: type[BaseModel]) -> None:
    with pytest.raises(RecursiveSolverError, match="args_schema has") as caught:
        solver_tool(create_recursive_solver(solver=Solver()), args_schema=schema)
    assert caught.value.field == "args_schema"


def test_only_a_solver_can_be_made_a_tool() -> None:
    with pytest.raises(RecursiveSolverError, match="solver is a function"):
        solver_tool(lambda task: "x")  # type: ignore[arg-type]  # wrong on purpose


# Inside an agent.


def agent(made: BaseTool, *calls: AIMessage, **options: Any) -> tuple[Any, ScriptedChatModel]:
    model = ScriptedChatModel(answers=[*calls, "finished"], tools=True)
    return create_agent(model, [made], **options), model


def results(state: dict[str, Any]) -> list[tuple[str, str]]:
    return [(m.status, str(m.content)) for m in state["messages"] if isinstance(m, ToolMessage)]


ASK = {"messages": [HumanMessage("please")]}


def test_an_agent_calls_it(run: Run) -> None:
    host, model = agent(tool(), tool_call("recursive_solver", task="w"))
    state = run(host, ASK)
    assert results(state) == [("success", "w!")]
    assert state["messages"][-1].content == "finished"
    assert model.calls[0].tools == ["recursive_solver"]


def test_an_agent_sees_a_halt_and_goes_on(run: Run) -> None:
    host, model = agent(tool(verifiers=[lambda: reject("too short")]), tool_call("recursive_solver", task="w"))
    [(status, text)] = results(run(host, ASK))
    assert (status, "recovery_stalled" in text) == ("error", True)
    assert "recovery_stalled" in model.calls[1].text


def test_an_interrupt_in_it_reaches_the_agents_caller_and_is_resumed_there(run: Run) -> None:
    seen: list[str] = []

    def ask(task: Task) -> str:
        return kept(seen, task.id, f"{task}:{interrupt(f'{task}?')}")

    parts: dict[str, Any] = {"solver": ask, "decomposer": lambda depth: ["a", "b"] if depth == 0 else []}
    made = tool(**parts, aggregator=lambda results: "+".join(results))
    host, model = agent(made, tool_call("recursive_solver", task="w"), checkpointer=InMemorySaver())
    asked = run(host, ASK, CONFIG)["__interrupt__"]
    assert sorted(entry.value for entry in asked) == ["a?", "b?"]
    answers = {entry.id: entry.value.upper() for entry in asked}
    state = run(host, Command(resume=answers), CONFIG)
    assert results(state) == [("success", "a:A?+b:B?")]
    assert len(model.calls) == 2
    assert sorted(seen) == ["t.1", "t.2"]


def test_several_calls_in_one_message(run: Run) -> None:
    calls = AIMessage(
        "",
        tool_calls=[
            {"name": "recursive_solver", "args": {"task": text}, "id": text, "type": "tool_call"} for text in "abc"
        ],
    )
    for saver in (None, InMemorySaver()):
        host, _ = agent(tool(), calls, checkpointer=saver)
        assert results(run(host, ASK, CONFIG)) == [("success", "a!"), ("success", "b!"), ("success", "c!")]


class Names(BaseCallbackHandler):
    def __init__(self) -> None:
        self.names: list[str] = []

    def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        self.names.append(kwargs["name"])


class Who(BaseModel):
    user_id: str


def test_store_context_and_callbacks_of_the_host_carry_through(run: Run) -> None:
    def look(task: Task) -> str:
        runtime = get_runtime(Who)
        assert runtime.store is not None
        runtime.store.put(("seen",), task.id, {"by": runtime.context.user_id})
        return f"for {task.owner.user_id if task.owner else None}"

    store, names = InMemoryStore(), Names()
    host, _ = agent(tool(solver=look), tool_call("recursive_solver", task="w"), store=store, context_schema=Who)
    state = run(host, ASK, {"callbacks": [names]}, context=Who(user_id="ann"))
    assert results(state) == [("success", "for ann")]
    assert store.get(("seen",), "t") is not None
    assert {"recursive_solver", "admit", "solve", "verify"} <= set(names.names)


def test_an_agent_that_was_stopped_in_the_tool_goes_on_where_it_was(run: Run) -> None:
    calls: list[str] = []

    def solve(task: Task) -> str:
        calls.append(task.id)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return "x"

    parts: dict[str, Any] = {
        "solver": solve,
        "decomposer": lambda depth: ["a", "b"] if depth == 0 else [],
        "aggregator": lambda: "y",
    }
    made = tool(**parts, verifiers=[lambda: accept()])
    host, model = agent(made, tool_call("recursive_solver", task="w"), checkpointer=InMemorySaver())
    with pytest.raises(KeyboardInterrupt):
        host.invoke(ASK, CONFIG, durability="sync")
    state = run(host, None, CONFIG)
    assert results(state) == [("success", "y")]
    assert len(calls) == 3
    assert len(model.calls) == 2


def test_a_tool_node_of_a_graph_of_ones_own(run: Run) -> None:
    host = StateGraph(MessagesState)
    host.add_node("tools", ToolNode([tool()]))
    host.add_edge(START, "tools")
    state = run(host.compile(), {"messages": [tool_call("recursive_solver", task="w")]})
    assert results(state) == [("success", "w!")]


def test_a_solver_may_have_a_solver_as_its_tool(run: Run) -> None:
    model = ScriptedChatModel(answers=[tool_call("inner", task="small"), "all"], tools=True)
    inner = solver_tool(create_recursive_solver(solver=lambda task: f"{task}!"), name="inner")
    outer = create_recursive_solver(model, atomizer=lambda: True, tools=[inner])
    assert run(outer, "w")["output"] == "all"
    assert "small!" in model.calls[1].text
