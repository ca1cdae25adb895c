"""Every form of input, and every bad one refused by name before any call (rules 8, 12, 25; issue 2, section 6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompt_values import ChatPromptValue, StringPromptValue
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from engine_kit import Solver, kept
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.brief import RootTaskAnchor, TaskBrief
from langgraph_recursive.state.errors import RecursiveSolverError
from scripted import ScriptedChatModel
from validation_kit import deciding

Run = Callable[..., dict[str, Any]]

ANCHOR = RootTaskAnchor(objective="write it", completion_criteria=["it is short"], constraints=["no jargon"])
BRIEF = TaskBrief(
    objective="write it", reason="asked", completion_criteria=["it is short"], expected_outputs=["a text"]
)

FORMS: dict[str, Any] = {
    "str": "write it",
    "dict": {"task": "write it"},
    "brief": BRIEF,
    "brief in a dict": {"task": BRIEF},
    "brief as data": BRIEF.model_dump(),
    "brief as data in a dict": {"task": BRIEF.model_dump()},
    "anchor": ANCHOR,
    "anchor in a dict": {"task": ANCHOR},
    "anchor as data": ANCHOR.model_dump(),
    "anchor as data in a dict": {"task": ANCHOR.model_dump()},
    "messages": {"messages": [HumanMessage("write it")]},
    "messages as data": {"messages": [{"role": "user", "content": "write it"}]},
    "messages as pairs": {"messages": [("system", "be kind"), ("human", "write it")]},
    "one text as messages": {"messages": "write it"},
    "a message": HumanMessage("write it"),
    "a list of messages": [HumanMessage("hello"), AIMessage("yes?"), HumanMessage("write it")],
    "a chat prompt": ChatPromptValue(messages=[HumanMessage("write it")]),
    "a text prompt": StringPromptValue(text="write it"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_task_may_be_given_as(run: Run, form: str) -> None:
    solver = Solver()
    gate = ScriptedChatModel(answers=deciding())  # an anchor's answer has to pass it
    assert run(create_recursive_solver(solver=solver, root_validator_model=gate), FORMS[form])["success"]
    task = solver.tasks[0]
    assert str(task).startswith("write it")
    assert task.anchor.objective == "write it"
    structured = "brief" in form or "anchor" in form
    assert task.anchor.completion_criteria == (["it is short"] if structured else ["the objective is met"])


def test_a_brief_gives_the_anchor_its_objective_criteria_and_constraints(run: Run) -> None:
    solver = Solver()
    run(create_recursive_solver(solver=solver), BRIEF.model_copy(update={"constraints": ["no jargon"]}))
    assert solver.tasks[0].anchor == ANCHOR


def test_a_task_goes_before_messages(run: Run) -> None:
    solver = Solver()
    run(create_recursive_solver(solver=solver), {"task": "this", "messages": [HumanMessage("that")]})
    assert str(solver.tasks[0]) == "this"


BAD: dict[str, tuple[Any, str, str]] = {
    "empty": ("", "task", "is empty"),
    "blank": (" \n ", "task", "is empty"),
    "nothing": ({}, "task", "there is no task"),
    "no task": ({"task": None}, "task", "there is no task"),
    "no messages": ({"messages": []}, "task", "there is no task"),
    "no human message": ({"messages": [AIMessage("hello")]}, "task", "there is no task"),
    "an empty human message": ({"messages": [HumanMessage("")]}, "task", "is empty"),
    "no message at all": ({"messages": [42]}, "messages", "messages"),
    "a role nobody knows": ({"messages": [{"role": "nobody", "content": "x"}]}, "messages", "nobody"),
    "a number": (42, "input", "input is of type int"),
    "a number as task": ({"task": 42}, "task", "task is of type int"),
    "too long": ("x" * 101, "task", "101 characters, max_spec_chars is 100"),
    "an id with a space": ({"task": "x", "task_id": "a b"}, "id", "letters, digits and hyphens"),
    "an id with a slash": ({"task": "x", "task_id": "../a"}, "id", "letters, digits and hyphens"),
    "an id of 41 characters": ({"task": "x", "task_id": "a" * 41}, "id", "1 to 40"),
    "an id that is no text": ({"task": "x", "task_id": 7}, "id", "letters, digits and hyphens"),
    "a brief without criteria": (
        {"objective": "x", "reason": "r", "completion_criteria": [], "expected_outputs": ["o"]},
        "task",
        "completion_criteria",
    ),
    "an anchor with an unknown field": (
        {"objective": "x", "completion_criteria": ["c"], "deadline": "now"},
        "task",
        "deadline",
    ),
    "an anchor over its bound": (
        {"task": {"objective": "x" * 4_000, "completion_criteria": ["c"]}},
        "task",
        "at most 4000",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_refused_by_name_before_any_call(run: Run, kind: str) -> None:
    given, field, says = BAD[kind]
    solver = Solver()
    graph = create_recursive_solver(solver=solver, policy=SolvePolicy(max_spec_chars=100))
    with pytest.raises(RecursiveSolverError, match=says) as caught:
        run(graph, given)
    assert caught.value.code == "invalid_input"
    assert caught.value.field == field
    assert solver.tasks == []


@pytest.mark.parametrize("kind", ["empty", "nothing", "a number"])
def test_bad_input_is_refused_in_a_stream_too(kind: str) -> None:
    graph = create_recursive_solver(solver=Solver())
    with pytest.raises(RecursiveSolverError):
        list(graph.stream(BAD[kind][0]))


def test_a_new_task_on_a_used_thread_clears_everything_but_messages_and_total_usage(run: Run) -> None:
    solver = Solver(lambda task: str(task).upper())
    graph = create_recursive_solver(
        solver=solver,
        verifiers=[lambda task, attempt: attempt > 1 or "good" in str(task)],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "1"}}
    first = run(graph, {"messages": [HumanMessage("bad")]}, config)
    second = run(graph, {"messages": [HumanMessage("good")]}, config)
    assert [attempt.id for attempt in first["attempts"]] == ["t", "t_fix_1"]
    assert [attempt.id for attempt in second["attempts"]] == ["t"]
    assert {entry.task for entry in second["traces"]} == {"good"}
    assert [message.type for message in second["messages"]] == ["human", "ai", "human", "ai"]
    assert (second["usage"].calls, second["total_usage"].calls) == (2, first["usage"].calls + 2)
    assert [task.run for task in solver.tasks] == [1, 1, 2]
    assert solver.tasks[-1].prior_failures == []


def test_limits_count_one_run(run: Run) -> None:
    graph = create_recursive_solver(
        solver=Solver(),
        verifiers=[lambda attempt: attempt > 1],
        checkpointer=InMemorySaver(),
        policy=SolvePolicy(max_fixes_total=1),
    )
    config = {"configurable": {"thread_id": "1"}}
    assert [run(graph, "w", config)["success"] for _ in range(3)] == [True, True, True]


# In a chain, and embedded.


@pytest.mark.parametrize("prompt", [PromptTemplate.from_template("do {x}"), ChatPromptTemplate.from_template("do {x}")])
def test_a_prompt_before_the_solver_gives_one_final_value_in_invoke_and_stream(way: str, prompt: Any) -> None:
    chain = prompt | create_recursive_solver(solver=lambda task: f"{task}!") | (lambda result: result["output"])

    async def streamed() -> list[Any]:
        return [chunk async for chunk in chain.astream({"x": "it"})]

    if way == "sync":
        assert chain.invoke({"x": "it"}) == "do it!"
        assert list(chain.stream({"x": "it"})) == ["do it!"]
    else:
        assert asyncio.run(chain.ainvoke({"x": "it"})) == "do it!"
        assert asyncio.run(streamed()) == ["do it!"]


def test_with_config_keeps_the_solver_and_its_input_forms(run: Run) -> None:
    graph = create_recursive_solver(solver=lambda task: f"{task}!").with_config({"tags": ["mine"]})
    assert run(graph, "w")["output"] == "w!"


def test_with_retry_runs_again_what_raised(run: Run) -> None:
    answers: list[Any] = [5, "done"]
    graph = create_recursive_solver(solver=lambda: answers.pop(0)).with_retry(
        stop_after_attempt=2, wait_exponential_jitter=False
    )
    assert run(graph, "w")["output"] == "done"


def test_batch_takes_every_form(way: str, run: Run) -> None:
    gate = ScriptedChatModel(answers=deciding())
    graph = create_recursive_solver(solver=lambda task: "done", root_validator_model=gate)
    given = list(FORMS.values())
    results = graph.batch(given) if way == "sync" else asyncio.run(graph.abatch(given))
    assert [result["output"] for result in results] == ["done"] * len(given)


def test_a_solver_is_a_node_of_another_graph(run: Run) -> None:
    host = StateGraph(MessagesState)
    host.add_node("solve", create_recursive_solver(solver=lambda task: f"{task}!", name="worker"))
    host.add_edge(START, "solve")
    last = run(host.compile(), {"messages": [HumanMessage("do it")]})["messages"][-1]
    assert (last.content, last.name) == ("do it!", "worker")


def test_a_component_may_call_another_solver_with_its_task(run: Run) -> None:
    inner = create_recursive_solver(
        solver=lambda task: f"{task.id}:{task}", decomposer=lambda depth: ["x"] if depth == 0 else []
    )
    seen: list[Any] = []
    outer = create_recursive_solver(
        solver=lambda task: kept(seen, inner.invoke({"task": task}), "x"),
        decomposer=lambda depth: ["a", "b"] if depth == 0 else [],
        aggregator=lambda: "y",
    )
    assert run(outer, "w")["success"]
    assert [set(result) >= {"output", "usage", "halt"} for result in seen] == [True, True]
    assert [result["usage"].tasks for result in seen] == [2, 2]


def test_input_and_output_have_json_schemas() -> None:
    solver = create_recursive_solver(solver=str)
    assert {"task", "messages"} <= set(solver.get_input_jsonschema()["properties"])
    assert {"output", "success", "verified", "halt"} <= set(solver.get_output_jsonschema()["properties"])
