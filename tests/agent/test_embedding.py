"""The agent as a solver, in a chain, in a graph; what it refuses; what it keeps in a checkpoint."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from agent_kit import Solve, add
from langgraph_recursive.graph import Budget, SimpleRecursiveAgent, SolvePolicy, create_recursive_solver
from langgraph_recursive.state import TaskBrief
from langgraph_recursive.state.errors import (
    ComponentError,
    InvalidInputError,
    MissingThreadError,
    UnknownThreadError,
)
from saver_kinds import ALL_KINDS, SaverKind
from scripted import ScriptedChatModel, tool_call

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


def agent(*answers: Any, **options: Any) -> SimpleRecursiveAgent:
    return SimpleRecursiveAgent(ScriptedChatModel(answers=list(answers), tools=True, repeat=True), **options)


def outcome(way: str, graph: Any, given: Any, config: Any = None) -> dict[str, Any]:
    return dict(graph.invoke(given, config) if way == "sync" else asyncio.run(graph.ainvoke(given, config)))


def asking(question: str) -> str:
    """Ask a person."""
    return str(interrupt(question))


def test_as_a_solver_its_answer_is_the_tasks(way: str) -> None:
    working = agent(tool_call("add", a=1, b=2), "3", "DONE", tools=[add])
    result = outcome(way, create_recursive_solver(solver=working), "1 + 2")
    assert (result["success"], result["output"]) == (True, "3")
    assert result["usage"].llm_calls == 3


@pytest.mark.parametrize("answers", [["FAIL"], ["a guess", "FAIL"]], ids=["at once", "after an answer"])
def test_as_a_solver_fail_reports_failed(way: str, answers: list[str]) -> None:
    result = outcome(way, create_recursive_solver(solver=agent(*answers)), "goal")
    assert (result["success"], result["report"].outcome) == (False, "failed")
    assert "FAIL" in result["halt"].detail


@pytest.mark.parametrize("options", [{"max_iterations": 1}, {"timeout": 0.3}], ids=["exhausted", "timed out"])
def test_as_a_solver_an_answer_that_is_not_final_is_partial(way: str, options: dict[str, Any]) -> None:
    model = ScriptedChatModel(answers=["a guess", "FAIL"], latency=0.2 if "timeout" in options else 0.0)
    working = SimpleRecursiveAgent(model, **options)
    result = outcome(way, create_recursive_solver(solver=working, policy=SolvePolicy(max_attempts=1)), "goal")
    assert (result["success"], result["output"], result["report"].outcome) == (False, None, "partial")
    assert [part.text for part in result["partial"]] == ["a guess"]


def test_as_a_solver_it_keeps_to_the_budget(way: str) -> None:
    model = ScriptedChatModel(answers=["a guess"], repeat=True)
    policy = SolvePolicy(max_attempts=1, budget=Budget(max_llm_calls=3))
    result = outcome(way, create_recursive_solver(solver=SimpleRecursiveAgent(model), policy=policy), "goal")
    assert (result["halt"].type, len(model.calls)) == ("budget_exhausted", 3)


def test_as_a_solver_nothing_at_all_is_failed(way: str) -> None:
    result = outcome(way, create_recursive_solver(solver=agent("", max_iterations=1)), "goal")
    assert result["report"].outcome == "failed"


def test_as_a_solver_its_events_speak_of_the_task() -> None:
    solver = create_recursive_solver(
        decomposer=lambda task, depth: [] if depth else ["a", "b"], solver=agent("42", max_iterations=1)
    )
    events = list(solver.stream("goal", stream_mode="custom"))
    assert {event["task_id"] for event in events if event["type"] == "goal_submitted"} >= {"t.1", "t.2"}
    assert len({event["run_id"] for event in events}) == 1


def test_in_a_chain_and_its_stream() -> None:
    prompt = ChatPromptTemplate.from_messages([("user", "{what}")])
    working = agent("42", "DONE")
    chain = prompt | working | RunnableLambda(lambda output: output["solution"])
    assert chain.invoke({"what": "goal"}) == "42"
    assert list(chain.stream({"what": "goal"})) == ["42"]
    assert working.batch(["a", "b"], {"max_concurrency": 1})[1]["success"]
    safe = prompt | agent("42", "DONE").with_fallbacks([working]) | RunnableLambda(lambda output: output["solution"])
    assert list(safe.stream({"what": "goal"})) == ["42"]


def test_as_a_node_of_a_graph_with_messages(way: str) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent("42", "DONE"))
    graph.add_edge(START, "agent")
    result = outcome(way, graph.compile(), {"messages": [("user", "goal")]})
    assert [message.text for message in result["messages"]] == ["goal", "42"]


def test_as_a_node_it_asks_and_goes_on_under_the_parents_saver(way: str) -> None:
    model = ScriptedChatModel(answers=[tool_call("asking", question="may I?"), "42", "DONE"], tools=True)
    graph = StateGraph(MessagesState)
    graph.add_node("agent", SimpleRecursiveAgent(model, [asking]))
    graph.add_edge(START, "agent")
    compiled = graph.compile(checkpointer=InMemorySaver())
    asked = outcome(way, compiled, {"messages": [("user", "goal")]}, CONFIG)["__interrupt__"]
    assert [question.value for question in asked] == ["may I?"]
    result = outcome(way, compiled, Command(resume="yes"), CONFIG)
    assert [message.text for message in result["messages"]] == ["goal", "42"]
    assert len(model.calls) == 3


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_killed_run_goes_on_from_any_saver(kind: SaverKind, way: str, tmp_path: Path) -> None:
    location = kind.new_location(tmp_path)
    made: list[int] = []

    def counted(a: int) -> int:
        """Count."""
        made.append(a)
        return a

    first = ScriptedChatModel(answers=[tool_call("counted", a=1), KeyboardInterrupt()], tools=True)
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        _on(kind, location, way, first, counted, "goal")
    second = ScriptedChatModel(answers=["42", "DONE"], tools=True)
    result = _on(kind, location, way, second, counted, None)
    assert (result["solution"], result["iterations"], made) == ("42", 2, [1])
    assert [message.text for message in second.calls[0].messages[1:]] == ["goal", "", "1"]


def _on(kind: SaverKind, location: str, way: str, model: Any, tool: Any, given: Any) -> dict[str, Any]:
    async def in_async() -> dict[str, Any]:
        async with kind.open_async(location) as saver:
            working = SimpleRecursiveAgent(model, [tool], checkpointer=saver)
            return dict(await working.ainvoke(given, CONFIG, durability="sync"))

    if way == "async":
        return asyncio.run(in_async())
    with kind.open_sync(location) as saver:
        return dict(SimpleRecursiveAgent(model, [tool], checkpointer=saver).invoke(given, CONFIG, durability="sync"))


@pytest.mark.parametrize("nested", [False, True], ids=["alone", "as a solver"])
def test_tools_may_ask_a_person_several_at_once(way: str, nested: bool) -> None:
    both = AIMessage(
        "", tool_calls=[{"name": "asking", "args": {"question": text}, "id": text} for text in ("one", "two")]
    )
    model = ScriptedChatModel(answers=[both, "42", "DONE"], tools=True)
    saver = InMemorySaver()
    working: Any = SimpleRecursiveAgent(model, [asking], checkpointer=None if nested else saver)
    if nested:
        working = create_recursive_solver(solver=working, checkpointer=saver)
    config: RunnableConfig = {**CONFIG, "max_concurrency": 1}
    asked = outcome(way, working, "goal", config)["__interrupt__"]
    assert sorted(question.value for question in asked) == ["one", "two"]
    result = outcome(way, working, Command(resume={it.id: f"{it.value}!" for it in asked}), config)
    assert result["success"]
    assert [message.text for message in model.calls[-1].messages[3:5]] == ["one!", "two!"]
    assert len(model.calls) == 3


def test_solve_says_that_it_waits_and_goes_on(solve: Solve) -> None:
    working = agent(tool_call("asking", question="may I?"), "42", "DONE", tools=[asking], checkpointer=InMemorySaver())
    waiting = solve(working, "goal", CONFIG)
    assert (waiting.success, waiting.status) == (False, "interrupted")
    assert solve(working, Command(resume="yes"), CONFIG).solution == "42"


def test_without_a_saver_a_question_cannot_be_answered_and_it_says_so(solve: Solve) -> None:
    working = agent(tool_call("asking", question="may I?"), "42", "DONE", tools=[asking])
    assert "needs a checkpointer" in solve(working, "goal").reason
    with pytest.raises(UnknownThreadError) as caught:
        solve(working, Command(resume="yes"))
    assert caught.value.field == "checkpointer"


def test_an_answer_to_an_unknown_thread_is_refused_before_the_model_is_asked(solve: Solve) -> None:
    model = ScriptedChatModel(answers=["42", "DONE"])
    working = SimpleRecursiveAgent(model, checkpointer=InMemorySaver())
    with pytest.raises(UnknownThreadError):
        solve(working, Command(resume="yes"), CONFIG)
    assert model.calls == []
    assert solve(working, "goal", CONFIG).success


def test_a_second_turn_is_a_goal_of_its_own(solve: Solve) -> None:
    model = ScriptedChatModel(answers=["one", "DONE", "two", "DONE"])
    working = SimpleRecursiveAgent(model, checkpointer=InMemorySaver())
    assert solve(working, "first", CONFIG).solution == "one"
    assert solve(working, {"messages": [("user", "second")]}, CONFIG).solution == "two"
    assert model.calls[2].messages[-1].text == "second"
    assert solve(working, None, CONFIG).solution == "two"


def test_it_is_looked_at_as_any_compiled_graph() -> None:
    working = agent("42", "DONE", checkpointer=InMemorySaver())
    working.invoke("goal", CONFIG)
    assert working.get_state(CONFIG).values["goal_state"].solution == "42"
    assert set(working.get_graph().nodes) == {"__start__", "submit", "think", "tools", "judge", "__end__"}
    assert set(working.get_input_jsonschema()["properties"]) == {"goal", "messages"}
    assert "solution" in working.get_output_jsonschema()["properties"]
    assert working._repr_mimebundle_() == {"text/plain": repr(working)}  # LangGraph's own asks a web service


def test_a_brief_is_a_goal_too() -> None:
    model = ScriptedChatModel(answers=["42", "DONE"])
    brief = TaskBrief(objective="name one", reason="r", completion_criteria=["a number"], expected_outputs=["it"])
    assert SimpleRecursiveAgent(model).solve(brief).success
    assert "name one" in model.calls[0].messages[-1].text


@pytest.mark.parametrize(
    "given", ["", "  ", {}, {"goal": None}, [], {"messages": [("assistant", "x")]}, 5, {"goal": 5}]
)
def test_what_is_no_goal_is_refused(solve: Solve, given: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        solve(agent("42"), given)
    assert caught.value.field == "goal"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"max_iterations": 0}, "max_iterations"),
        ({"max_iterations": 1.5}, "max_iterations"),
        ({"max_tool_rounds": 0}, "max_tool_rounds"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": "5"}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
    ],
)
def test_a_limit_out_of_bounds_is_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        agent("42", **options)
    assert caught.value.field == field


def test_a_model_or_tool_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(ComponentError):
        SimpleRecursiveAgent(5)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ComponentError, match="cannot call tools"):
        SimpleRecursiveAgent(ScriptedChatModel(answers=["x"]), [add])
    with pytest.raises(ComponentError) as caught:
        agent("42", tools=[5])
    assert caught.value.field == "tools"


def test_a_thread_is_asked_for_and_must_be_known(solve: Solve) -> None:
    with pytest.raises(MissingThreadError):
        solve(agent("42", checkpointer=InMemorySaver()), "goal")
    with pytest.raises(UnknownThreadError):
        solve(agent("42", checkpointer=InMemorySaver()), None, CONFIG)
