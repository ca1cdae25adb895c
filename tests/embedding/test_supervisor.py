"""A solver as an agent of a supervisor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from langgraph_supervisor import create_supervisor

from engine_kit import Solver, kept, split
from langgraph_recursive.graph import SimpleRecursiveAgent, create_recursive_solver
from langgraph_recursive.nodes import reject
from langgraph_recursive.state.task import Task
from scripted import ScriptedChatModel, tool_call

Run = Callable[..., Any]

CONFIG: RunnableConfig = {"configurable": {"thread_id": "1"}}


def tree(**parts: Any) -> Any:
    """t with the children t.1 and t.2."""
    given = {
        "solver": lambda task: f"{task}!",
        "decomposer": split({"w": ["a", "b"]}),
        "aggregator": lambda results: "+".join(results),
        "name": "worker",
    }
    return create_recursive_solver(**{**given, **parts})


def handoffs(*names: str) -> list[AIMessage]:
    """Messages of the supervisor, each of which hands over to one agent."""
    return [tool_call(f"transfer_to_{name}", call_id=str(number)) for number, name in enumerate(names)]


def supervised(*agents: Any, answers: list[Any], saver: Any = None, **options: Any) -> tuple[Any, ScriptedChatModel]:
    model = ScriptedChatModel(answers=answers, tools=True)
    return create_supervisor(list(agents), model=model, **options).compile(checkpointer=saver), model


def said(state: dict[str, Any], name: str = "worker") -> list[str]:
    """What an agent said, without its words on handing back."""
    own = [message for message in state["messages"] if message.name == name and isinstance(message, AIMessage)]
    return [str(message.content) for message in own if not message.tool_calls]


@pytest.mark.parametrize("mode", ["full_history", "last_message"])
def test_the_answer_is_under_the_solvers_name_and_reaches_the_supervisor(run: Run, mode: str) -> None:
    graph, model = supervised(tree(), answers=[*handoffs("worker"), "finished"], output_mode=mode)
    state = run(graph, {"messages": "w"})
    assert said(state) == ["a!+b!"]
    assert state["messages"][-1].content == "finished"
    assert "a!+b!" in [message.content for message in model.calls[1].messages]
    assert len({message.id for message in state["messages"]}) == len(state["messages"]) == 7


@pytest.mark.parametrize("mode", ["full_history", "last_message"])
def test_a_second_turn_solves_the_new_request_and_knows_what_was_said(run: Run, mode: str) -> None:
    solver = Solver(lambda task: f"{task}!")
    answers = [*handoffs("worker"), "finished", *handoffs("worker"), "finished again"]
    worker = create_recursive_solver(solver=solver, name="worker")
    graph, _ = supervised(worker, answers=answers, saver=InMemorySaver(), output_mode=mode)
    run(graph, {"messages": "one"}, CONFIG)
    state = run(graph, {"messages": "two"}, CONFIG)
    assert [str(task) for task in solver.tasks] == ["one", "two"]
    assert said(state) == ["one!", "two!"]
    assert "human: one" in solver.tasks[1].inputs[0].text
    assert "ai: one!" in solver.tasks[1].inputs[0].text


def test_a_second_handoff_in_one_turn_is_a_run_of_its_own(run: Run) -> None:
    solver = Solver()
    worker = create_recursive_solver(solver=solver, name="worker")
    graph, _ = supervised(worker, answers=[*handoffs("worker", "worker"), "finished"], saver=InMemorySaver())
    assert said(run(graph, {"messages": "w"}, CONFIG)) == ["done", "done"]
    assert [str(task) for task in solver.tasks] == ["w", "w"]


def test_beside_other_agents(run: Run) -> None:
    other = create_recursive_solver(solver=lambda task: f"on {task}", name="other")
    graph, model = supervised(tree(), other, answers=[*handoffs("worker", "other"), "finished"])
    state = run(graph, {"messages": "w"})
    assert (said(state), said(state, "other")) == (["a!+b!"], ["on w"])
    assert sorted(model.calls[0].tools) == ["transfer_to_other", "transfer_to_worker"]


def test_the_simple_agent_is_one_of_them_too(run: Run) -> None:
    agent = SimpleRecursiveAgent(ScriptedChatModel(answers=["42", "DONE"]), name="counter")
    graph, _ = supervised(agent, tree(), answers=[*handoffs("counter", "worker"), "finished"])
    state = run(graph, {"messages": "w"})
    assert (said(state, "counter"), said(state)) == (["42"], ["a!+b!"])


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"verifiers": [lambda: reject("too short")]}, "No accepted answer: recovery_stalled."),
        ({"solver": lambda: 1 // 0}, "No accepted answer: task_failed. ZeroDivisionError"),
    ],
    ids=["rejected", "raised"],
)
def test_a_halt_is_text_and_the_supervisor_goes_on(run: Run, parts: dict[str, Any], says: str) -> None:
    worker = create_recursive_solver(**{"solver": lambda: "bad", "name": "worker", **parts})
    graph, _ = supervised(worker, answers=[*handoffs("worker"), "finished"])
    state = run(graph, {"messages": "w"})
    assert said(state)[0].startswith(says)
    assert state["messages"][-1].content == "finished"


def test_interrupts_reach_the_supervisors_caller_and_are_answered_there(run: Run) -> None:
    seen: list[str] = []

    def ask(task: Task) -> str:
        return kept(seen, task.id, f"{task}:{interrupt(f'{task}?')}")

    graph, model = supervised(tree(solver=ask), answers=[*handoffs("worker"), "finished"], saver=InMemorySaver())
    asked = run(graph, {"messages": "w"}, CONFIG)["__interrupt__"]
    assert sorted(entry.value for entry in asked) == ["a?", "b?"]
    state = run(graph, Command(resume={entry.id: entry.value.upper() for entry in asked}), CONFIG)
    assert said(state) == ["a:A?+b:B?"]
    assert (sorted(seen), len(model.calls)) == (["t.1", "t.2"], 2)


def test_events_are_in_the_supervisors_stream(stream: Run) -> None:
    graph, _ = supervised(tree(), answers=[*handoffs("worker"), "finished"])
    chunks = stream(graph, {"messages": "w"}, stream_mode="custom", subgraphs=True)
    told = [(event["task_id"], event["type"]) for _, event in chunks]
    assert {task for task, _ in told} == {"t", "t.1", "t.2"}
    assert told.count(("t", "accepted")) == 1
