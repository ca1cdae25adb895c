"""How the agent comes to an end: DONE, FAIL, the iterations, the time, the rounds of tool calls."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, SystemMessage

from agent_kit import Solve, add
from langgraph_recursive.graph import AgentResult, SimpleRecursiveAgent
from langgraph_recursive.state.goal_state import GoalState
from scripted import ScriptedChatModel, tool_call


def agent(*answers: Any, **options: Any) -> SimpleRecursiveAgent:
    return SimpleRecursiveAgent(ScriptedChatModel(answers=list(answers), tools=True), **options)


def told(model: Any) -> list[str]:
    """The texts that the model was told last."""
    return [str(message.text) for message in model.calls[-1].messages]


@pytest.mark.parametrize("word", ["DONE", "done", " Done\n"])
def test_the_answer_is_the_last_one_before_done(solve: Solve, word: str) -> None:
    result = solve(agent("first", "second", word), "goal")
    assert result == AgentResult(success=True, solution="second", status="achieved", iterations=3)


@pytest.mark.parametrize("text", ["The task is done", "DONE.", "**DONE**", "FAIL: no data", "a failing approach"])
def test_a_text_that_only_holds_the_word_is_an_answer(solve: Solve, text: str) -> None:
    assert solve(agent(text, "DONE"), "goal").solution == text


@pytest.mark.parametrize("word", ["FAIL", "fail", "\tFail "])
def test_fail_ends_without_success(solve: Solve, word: str) -> None:
    result = solve(agent(word), "goal")
    assert result == AgentResult(success=False, status="failed", reason="the model replied FAIL", iterations=1)


def test_fail_keeps_the_last_answer_as_the_best_one(solve: Solve) -> None:
    result = solve(agent("a guess", "FAIL"), "goal")
    assert (result.success, result.solution) == (False, "a guess")


def test_a_bare_done_is_asked_for_the_answer(solve: Solve) -> None:
    model = ScriptedChatModel(answers=["DONE", "42", "DONE"])
    result = solve(SimpleRecursiveAgent(model), "goal")
    assert (result.solution, result.iterations) == ("42", 3)
    assert "There is no answer yet" in model.calls[1].messages[-1].text


def test_an_empty_reply_is_no_answer(solve: Solve) -> None:
    assert solve(agent("42", "  ", "DONE"), "goal").solution == "42"


def test_iterations_that_run_out_are_no_success(solve: Solve) -> None:
    result = solve(agent("first", "second", max_iterations=2), "goal")
    assert (result.success, result.solution, result.status, result.iterations) == (False, "second", "exhausted", 2)
    assert "max_iterations = 2" in result.reason


def test_done_in_the_last_iteration_is_a_success(solve: Solve) -> None:
    assert solve(agent("first", "DONE", max_iterations=2), "goal").success


def test_tools_are_called_and_a_round_is_no_iteration(solve: Solve) -> None:
    model = ScriptedChatModel(answers=[tool_call("add", a=1, b=2), "3", "DONE"], tools=True)
    result = solve(SimpleRecursiveAgent(model, [add]), "1 + 2")
    assert (result.solution, result.iterations) == ("3", 2)
    assert model.calls[0].tools == ["add"]
    assert told(model)[-3:-1] == ["3", "3"]


def test_a_tool_call_wins_over_done_in_the_same_message(solve: Solve) -> None:
    model = ScriptedChatModel(answers=["a guess", tool_call("add", text="DONE", a=1, b=2), "3", "DONE"], tools=True)
    assert solve(SimpleRecursiveAgent(model, [add]), "1 + 2").solution == "3"


def test_a_tool_that_raises_answers_with_its_error(solve: Solve) -> None:
    def broken(path: str) -> str:
        """Break."""
        raise ValueError("no disk")

    model = ScriptedChatModel(answers=[tool_call("broken", path="x"), "without", "DONE"], tools=True)
    assert solve(SimpleRecursiveAgent(model, [broken]), "goal").success
    assert "no disk" in model.calls[1].messages[-1].text


def test_rounds_of_tool_calls_are_bounded(solve: Solve) -> None:
    model = ScriptedChatModel(answers=[tool_call("add", a=1, b=2)], repeat=True, tools=True)
    result = solve(SimpleRecursiveAgent(model, [add], max_iterations=2, max_tool_rounds=3), "1 + 2")
    assert (result.status, result.solution, result.iterations, len(model.calls)) == ("exhausted", None, 2, 8)
    refusals = [message for message in model.calls[-1].messages if "Not called" in message.text]
    assert len(refusals) == 1


def test_a_call_that_no_tool_is_there_for_is_answered(solve: Solve) -> None:
    model = ScriptedChatModel(answers=[tool_call("add", a=1, b=2), "3", "DONE"])
    assert solve(SimpleRecursiveAgent(model), "1 + 2").solution == "3"


def test_a_time_out_is_an_outcome_with_the_best_answer_so_far(solve: Solve) -> None:
    def answers(messages: Any) -> str:
        if len(messages) > 2:
            time.sleep(0.6)
        return "first"

    started = time.monotonic()
    result = solve(SimpleRecursiveAgent(ScriptedChatModel(answers=answers), timeout=0.3), "goal")
    assert time.monotonic() - started < 5
    assert (result.success, result.solution, result.status) == (False, "first", "timed_out")
    assert "timeout = 0.3 s" in result.reason


def test_a_tool_is_cut_off_by_the_time_out_too(solve: Solve) -> None:
    async def slow(path: str) -> str:
        """Take long."""
        await asyncio.sleep(0.6)
        return path

    result = solve(agent(tool_call("slow", path="x"), tools=[slow], timeout=0.2), "goal")
    assert (result.status, result.iterations) == ("timed_out", 0)


def test_a_model_that_raises_is_an_outcome(solve: Solve) -> None:
    result = solve(agent("a guess", RuntimeError("no key")), "goal")
    assert (result.status, result.solution) == ("failed", "a guess")
    assert "RuntimeError: no key" in result.reason


def test_a_passing_error_is_tried_again(solve: Solve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langgraph_recursive.graph.agent.machine._FIRST_WAIT", 0.01)
    assert solve(agent(ConnectionError(), "42", ConnectionError(), "DONE"), "goal").solution == "42"


def test_the_prompts_say_the_goal_once_and_how_to_end(solve: Solve) -> None:
    model = ScriptedChatModel(answers=["42", "DONE"])
    solve(SimpleRecursiveAgent(model, system_prompt="You know numbers."), "the goal")
    system, goal, *_ = model.calls[0].messages
    assert isinstance(system, SystemMessage)
    assert system.text.startswith("You know numbers.")
    assert "DONE" in system.text
    assert "FAIL" in system.text
    assert goal.text == "the goal"


def test_the_conversation_before_the_goal_is_kept(solve: Solve) -> None:
    model = ScriptedChatModel(answers=["42", "DONE"])
    talk = {"messages": [("user", "I like even numbers"), ("assistant", "noted"), ("user", "name one")]}
    assert solve(SimpleRecursiveAgent(model), talk).success
    assert [message.text for message in model.calls[0].messages[1:]] == ["I like even numbers", "noted", "name one"]


def test_a_chat_host_gets_one_message_with_the_replys_id() -> None:
    model = ScriptedChatModel(answers=[AIMessage("42", id="own"), "DONE"])
    given, answer = SimpleRecursiveAgent(model, name="counter").invoke({"messages": [("user", "name one")]})["messages"]
    assert given.text == "name one"
    assert (answer.text, answer.name, answer.id) == ("42", "counter", "own")


def test_a_chat_host_is_told_why_there_is_no_answer() -> None:
    [answer] = agent("a guess", max_iterations=1).invoke("goal")["messages"]
    assert "exhausted" in answer.text
    assert "a guess" in answer.text


def test_the_state_carries_goal_iteration_solution_and_status() -> None:
    updates = list(agent("42", "DONE").stream("goal", stream_mode="updates"))
    assert [next(iter(update)) for update in updates] == ["submit", "think", "judge", "think", "judge"]
    state = GoalState.model_validate(updates[-1]["judge"]["goal_state"])
    assert (state.goal, state.iteration, state.solution, state.status) == ("goal", 2, "42", "achieved")


async def test_astream_streams() -> None:
    chunks = [chunk async for chunk in agent("42", "DONE").astream("goal", stream_mode="values")]
    assert chunks[-1]["solution"] == "42"
