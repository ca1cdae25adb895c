"""A solver as a chat agent: messages in, one message out, in any graph of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from engine_kit import Solver, split
from langgraph_recursive.graph import create_recursive_solver
from langgraph_recursive.nodes import reject
from scripted import ScriptedChatModel

Run = Callable[..., Any]

CONFIG = {"configurable": {"thread_id": "1"}}
ASK = {"messages": [HumanMessage("do it")]}


def host(*agents: Any, checkpointer: Any = None) -> Any:
    """A graph of messages that asks one agent after the other."""
    graph = StateGraph(MessagesState)
    graph.add_sequence([(agent.name, agent) for agent in agents])
    graph.add_edge(START, agents[0].name)
    return graph.compile(checkpointer=checkpointer)


def said(state: Any) -> list[tuple[str, str | None]]:
    return [(str(message.content), message.name) for message in state["messages"]]


def test_messages_in_and_one_named_message_out(run: Run) -> None:
    solver = create_recursive_solver(
        solver=lambda task: f"{task}!",
        decomposer=split({"do it": ["a", "b"]}),
        aggregator=lambda: "both",
        name="worker",
    )
    assert said(run(solver, ASK)) == [("do it", None), ("both", "worker")]
    state = run(host(solver), ASK)
    assert said(state) == [("do it", None), ("both", "worker")]
    assert set(state) == {"messages"}
    assert isinstance(state["messages"][-1], AIMessage)


def test_a_halt_says_so_in_its_text(run: Run) -> None:
    solver = create_recursive_solver(solver=Solver("bad"), verifiers=[lambda: reject("too short")])
    text, name = said(run(host(solver), ASK))[-1]
    assert name == "recursive_solver"
    assert text.startswith("No accepted answer: recovery_stalled")


def test_an_exception_in_a_part_is_a_halt_and_the_host_goes_on(run: Run) -> None:
    broken = create_recursive_solver(solver=lambda: 1 // 0, name="broken")
    after = create_recursive_solver(solver=lambda: "fine", name="after")
    assert said(run(host(broken, after), ASK))[1:] == [
        ("No accepted answer: task_failed. ZeroDivisionError: integer division or modulo by zero", "broken"),
        ("fine", "after"),
    ]


def test_an_empty_answer_is_no_empty_message(run: Run) -> None:
    assert said(run(host(create_recursive_solver(solver=lambda: "")), ASK))[-1][0] == "(empty answer)"


def test_each_turn_is_a_new_task_that_knows_what_was_said(run: Run) -> None:
    solver = Solver(lambda task: f"{task.brief.objective}!")
    graph = host(create_recursive_solver(solver=solver, name="worker"), checkpointer=InMemorySaver())
    run(graph, {"messages": [HumanMessage("one")]}, CONFIG)
    state = run(graph, {"messages": [HumanMessage("two")]}, CONFIG)
    assert said(state) == [("one", None), ("one!", "worker"), ("two", None), ("two!", "worker")]
    assert [entry.text for entry in solver.tasks[1].inputs] == ["human: one\nai: one!"]


def test_a_turn_with_messages_only_does_not_solve_the_last_turns_task_again(run: Run) -> None:
    solver = Solver()
    graph = create_recursive_solver(solver=solver, checkpointer=InMemorySaver())
    run(graph, {"task": "one"}, CONFIG)
    run(graph, {"messages": [HumanMessage("two")]}, CONFIG)
    assert [str(task) for task in solver.tasks] == ["one", "two"]


def test_a_hosts_task_goes_before_its_messages(run: Run) -> None:
    class State(MessagesState):
        task: str

    graph = StateGraph(State)
    graph.add_node("work", create_recursive_solver(solver=lambda task: f"{task}!"))
    graph.add_edge(START, "work")
    assert said(run(graph.compile(), {**ASK, "task": "that"}))[-1][0] == "that!"


def test_two_agents_in_a_row_answer_the_same_question(run: Run) -> None:
    first = create_recursive_solver(solver=lambda: "1", name="first")
    second = create_recursive_solver(solver=lambda: "2", name="second")
    assert said(run(host(first, second), ASK)) == [("do it", None), ("1", "first"), ("2", "second")]


# Streaming messages.


def streaming(answer: str = "a long answer") -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(answer)]))


def shown(chunks: list[tuple[Any, Any]]) -> str:
    return "|".join(str(message.content) for message, _ in chunks if message.type != "human")


def test_an_answer_that_was_streamed_by_its_model_is_not_shown_again(stream: Run) -> None:
    solver = create_recursive_solver(solver=streaming(), verifiers=[lambda: True])
    assert shown(stream(solver, ASK, stream_mode="messages")) == "a| |long| |answer"


def test_nor_in_a_host(stream: Run) -> None:
    graph = host(create_recursive_solver(solver=streaming()))
    assert shown(stream(graph, ASK, stream_mode="messages")) == "a long answer"
    graph = host(create_recursive_solver(solver=streaming()))
    chunks = [chunk for _, chunk in stream(graph, ASK, stream_mode="messages", subgraphs=True)]
    assert shown(chunks) == "a| |long| |answer"


@pytest.mark.parametrize(
    "make",
    [
        lambda: create_agent(streaming(), []),
        lambda: lambda task: streaming().invoke(str(task)).text,
        lambda: create_recursive_solver(solver=streaming()),
    ],
    ids=["an agent", "a function", "a nested solver"],
)
def test_nor_when_the_model_is_deeper(stream: Run, make: Callable[[], Any]) -> None:
    chunks = stream(create_recursive_solver(solver=make()), ASK, stream_mode="messages", subgraphs=True)
    assert "".join(shown([chunk for _, chunk in chunks]).split("|")) == "a long answer"


def test_the_tokens_of_each_tasks_model_are_shown_once_with_the_task_they_are_for(stream: Run) -> None:
    solver = create_recursive_solver(
        solver=lambda task: streaming(f"on {task}").invoke("").text,
        decomposer=split({"do it": ["a", "b"], "a": ["c", "d"]}),
        aggregator=lambda task, results: streaming("all of it").invoke("").text,
    )
    chunks = [chunk for _, chunk in stream(solver, ASK, stream_mode="messages", subgraphs=True)]
    told: dict[str | None, list[str]] = {}
    for message, metadata in chunks:
        told.setdefault(metadata.get("task_id"), []).append(message.text)
    leaves: dict[str | None, list[str]] = {
        "t.1.1": ["on", " ", "c"],
        "t.1.2": ["on", " ", "d"],
        "t.2": ["on", " ", "b"],
    }
    combined = ["all", " ", "of", " ", "it"]
    assert told.pop(None) == combined  # the root's own
    assert told == {**leaves, "t.1": combined}
    alone = stream(solver, ASK, stream_mode="messages")
    assert [message.text for message, _ in alone] == combined


def test_an_answer_of_a_function_is_shown_once(stream: Run) -> None:
    assert shown(stream(create_recursive_solver(solver=lambda: "plain"), ASK, stream_mode="messages")) == "plain"


def test_a_halt_is_shown_after_what_was_streamed(stream: Run) -> None:
    solver = create_recursive_solver(solver=streaming("bad"), verifiers=[lambda: reject("no")])
    assert shown(stream(solver, ASK, stream_mode="messages")).startswith("bad|No accepted answer: ")


def test_the_same_message_of_a_cached_model_is_a_second_answer(run: Run) -> None:
    model = ScriptedChatModel(answers=["same"], cache=InMemoryCache(), usage=(3, 4))
    solver = create_recursive_solver(solver=lambda task: model.invoke("q"), name="worker", checkpointer=InMemorySaver())
    first = run(solver, ASK, CONFIG)
    state = run(solver, {"messages": [HumanMessage("again")]}, CONFIG)
    assert said(state) == [("do it", None), ("same", "worker"), ("again", None), ("same", "worker")]
    assert len(model.calls) == 1
    assert [result["usage"].output_tokens for result in (first, state)] == [4, 0]


# Any agent, graph or chain as the solver.


def test_an_agent_with_tools_solves(run: Run) -> None:
    def look_up(word: str) -> str:
        """Look a word up."""
        return f"{word} is 7"

    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {"word": "x"}, "id": "1", "type": "tool_call"}])
    model = ScriptedChatModel(answers=[call, "seven"], tools=True)
    result = run(create_recursive_solver(solver=create_agent(model, [look_up])), ASK)
    assert (result["output"], result["usage"].model_calls) == ("seven", 2)
    assert "x is 7" in model.calls[1].text


class Asked(MessagesState):
    notes: list[str]


def test_a_graph_of_messages_with_more_in_its_state_solves(run: Run) -> None:
    def answer(state: Asked) -> dict[str, list[AnyMessage]]:
        return {"messages": [AIMessage(f"{state['messages'][-1].content}!")]}

    graph = StateGraph(Asked)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    assert run(create_recursive_solver(solver=graph.compile()), "w")["output"] == "w!"
