"""A solver in a deep agent: as a sub-agent, and as a tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from engine_kit import Solver, kept, split
from langgraph_recursive.graph import SimpleRecursiveAgent, create_recursive_solver, solver_tool
from langgraph_recursive.nodes import reject
from langgraph_recursive.state.task import Task
from scripted import ScriptedChatModel, tool_call

Run = Callable[..., Any]

CONFIG: RunnableConfig = {"configurable": {"thread_id": "1"}}
ASK = {"messages": [HumanMessage("please")]}
DELEGATE = tool_call("task", description="w", subagent_type="worker")


def tree(**parts: Any) -> Any:
    """t with the children t.1 and t.2."""
    given = {
        "solver": lambda task: f"{task}!",
        "decomposer": split({"w": ["a", "b"]}),
        "aggregator": lambda results: "+".join(results),
    }
    return create_recursive_solver(**{**given, **parts})


def deep(
    *calls: AIMessage, worker: Any = None, tools: Sequence[Any] = (), saver: Any = None
) -> tuple[Any, ScriptedChatModel]:
    """A deep agent that makes the calls and then says "finished"."""
    from deepagents import CompiledSubAgent, create_deep_agent  # brings several providers' packages: only where needed

    model = ScriptedChatModel(answers=[*calls, "finished"], tools=True)
    workers = [CompiledSubAgent(name="worker", description="Works.", runnable=worker)] if worker is not None else []
    return create_deep_agent(model, tools=tools, subagents=workers, checkpointer=saver), model


def returned(state: dict[str, Any]) -> list[str]:
    """What the main agent was told by its calls."""
    return [str(message.content) for message in state["messages"] if isinstance(message, ToolMessage)]


def test_the_answer_comes_back_to_the_main_agent(run: Run) -> None:
    agent, model = deep(DELEGATE, worker=tree())
    state = run(agent, ASK)
    assert returned(state) == ["a!+b!"]
    assert state["messages"][-1].content == "finished"
    assert model.calls[1].messages[-1].content == "a!+b!"


def test_nothing_of_the_solvers_state_is_left_in_the_agents(run: Run) -> None:
    alone, _ = deep()
    agent, _ = deep(DELEGATE, worker=tree())
    assert set(run(agent, ASK)) == set(run(alone, ASK))


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"verifiers": [lambda: reject("too short")]}, "No accepted answer: recovery_stalled."),
        ({"solver": lambda: 1 // 0}, "No accepted answer: task_failed. ZeroDivisionError"),
    ],
    ids=["rejected", "raised"],
)
def test_a_halt_comes_back_as_words_and_the_agent_goes_on(run: Run, parts: dict[str, Any], says: str) -> None:
    agent, _ = deep(DELEGATE, worker=create_recursive_solver(**{"solver": lambda: "bad", **parts}))
    state = run(agent, ASK)
    assert returned(state)[0].startswith(says)
    assert state["messages"][-1].content == "finished"


def test_several_tasks_at_once(run: Run) -> None:
    calls = [
        {"name": "task", "args": {"description": text, "subagent_type": "worker"}, "id": text, "type": "tool_call"}
        for text in "xyz"
    ]
    agent, _ = deep(AIMessage("", tool_calls=calls), worker=tree(), saver=InMemorySaver())
    assert returned(run(agent, ASK, CONFIG)) == ["x!", "y!", "z!"]


def test_each_task_of_a_thread_is_a_new_one(run: Run) -> None:
    solver = Solver(lambda task: f"{task}!")
    again = tool_call("task", call_id="call_2", description="v", subagent_type="worker")
    agent, _ = deep(DELEGATE, again, worker=create_recursive_solver(solver=solver), saver=InMemorySaver())
    assert returned(run(agent, ASK, CONFIG)) == ["w!", "v!"]
    assert [str(task) for task in solver.tasks] == ["w", "v"]


@pytest.mark.parametrize(
    ("replies", "says"),
    [(["42", "DONE"], "42"), (["FAIL"], "The goal was not achieved (failed): the model replied FAIL")],
    ids=["done", "failed"],
)
def test_the_simple_agent_is_a_sub_agent_too(run: Run, replies: list[str], says: str) -> None:
    agent, _ = deep(DELEGATE, worker=SimpleRecursiveAgent(ScriptedChatModel(answers=replies)))
    assert returned(run(agent, ASK)) == [says]


# Interrupts.


def asking(seen: list[str]) -> Callable[[Task], str]:
    return lambda task: kept(seen, task.id, f"{task}:{interrupt(f'{task}?')}")


@pytest.mark.parametrize("as_tool", [False, True], ids=["sub-agent", "tool"])
def test_interrupts_reach_the_agents_caller_and_are_answered_there(run: Run, as_tool: bool) -> None:
    seen: list[str] = []
    solver, saver = tree(solver=asking(seen)), InMemorySaver()
    if as_tool:
        agent, model = deep(tool_call("recursive_solver", task="w"), tools=[solver_tool(solver)], saver=saver)
    else:
        agent, model = deep(DELEGATE, worker=solver, saver=saver)
    asked = run(agent, ASK, CONFIG)["__interrupt__"]
    assert sorted(entry.value for entry in asked) == ["a?", "b?"]
    state = run(agent, Command(resume={entry.id: entry.value.upper() for entry in asked}), CONFIG)
    assert returned(state) == ["a:A?+b:B?"]
    assert (sorted(seen), len(model.calls)) == (["t.1", "t.2"], 2)


def test_a_single_question_is_answered_by_its_value(run: Run) -> None:
    agent, _ = deep(DELEGATE, worker=create_recursive_solver(solver=asking([])), saver=InMemorySaver())
    assert [entry.value for entry in run(agent, ASK, CONFIG)["__interrupt__"]] == ["w?"]
    assert returned(run(agent, Command(resume="yes"), CONFIG)) == ["w:yes"]


# What the agent's caller sees of the solver.


def test_events_are_in_the_agents_stream(stream: Run) -> None:
    agent, _ = deep(DELEGATE, worker=tree())
    chunks = stream(agent, ASK, stream_mode="custom", subgraphs=True)
    told = [(event["task_id"], event["type"]) for _, event in chunks]
    assert {task for task, _ in told} == {"t", "t.1", "t.2"}
    assert told.count(("t", "accepted")) == 1
    assert all(space[0].startswith("tools:") for space, _ in chunks)


def test_the_tokens_of_the_solvers_model_are_in_the_agents_stream_once(stream: Run) -> None:
    streaming = GenericFakeChatModel(messages=iter([AIMessage("a long answer")]))
    agent, _ = deep(DELEGATE, worker=create_recursive_solver(solver=streaming))
    chunks = stream(agent, ASK, stream_mode="messages", subgraphs=True)
    nested = [message.text for space, (message, _) in chunks if space]
    assert nested == ["a", " ", "long", " ", "answer"]


def test_events_are_in_astream_events() -> None:
    agent, _ = deep(DELEGATE, worker=tree())

    async def collected() -> list[Any]:
        return [event async for event in agent.astream_events(ASK, version="v2")]

    seen = asyncio.run(collected())
    told = [event["data"] for event in seen if event["event"] == "on_custom_event"]
    assert {event["task_id"] for event in told} == {"t", "t.1", "t.2"}
    assert {"worker", "t.1", "solve"} <= {event["name"] for event in seen}


# As a tool.


def test_as_a_tool(run: Run) -> None:
    agent, model = deep(tool_call("recursive_solver", task="w"), tools=[solver_tool(tree())])
    state = run(agent, ASK)
    assert returned(state) == ["a!+b!"]
    assert "recursive_solver" in model.calls[0].tools


def test_as_a_tool_a_halt_is_an_error_that_says_why(run: Run) -> None:
    made = solver_tool(create_recursive_solver(solver=lambda: "bad", verifiers=[lambda: reject("too short")]))
    agent, _ = deep(tool_call("recursive_solver", task="w"), tools=[made])
    message = run(agent, ASK)["messages"][-2]
    assert (message.status, "recovery_stalled" in message.content) == ("error", True)
