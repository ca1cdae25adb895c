"""A validator with the real web tools: what it passes as evidence it has opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.parts.web.search import SearchResult
from langgraph_recursive.nodes.parts.web.tools import WebSession
from langgraph_recursive.state.brief import TaskBrief
from langgraph_recursive.state.errors import ComponentError
from langgraph_recursive.state.report import TaskReport, answer_report
from scripted import ScriptedChatModel, tool_call
from validation_kit import brief, decide
from web_sites import Names, Net, network, says

Run = Callable[..., dict[str, Any]]

URL = "http://shop.example/orders"
FOUND = "http://shop.example/prices"
ROOT: TaskBrief = brief(validation_scopes=["evidence"])


def solver(net: Net, answer: Callable[[list[BaseMessage]], Any], declared: list[str], **options: Any) -> Any:
    def session(report: TaskReport) -> WebSession:
        names = Names(shop_example=[["93.184.216.34"]])
        return WebSession(declared=report.source_urls, search=search, resolver=names, connect=net.connect)

    return create_recursive_solver(
        solver=lambda task: answer_report("7").model_copy(update={"source_urls": declared}),
        root_validator_model=ScriptedChatModel(answers=answer, tools=True),
        validator_tools=session,
        **options,
    )


def search(query: str, k: int) -> list[SearchResult]:
    return [SearchResult(url=FOUND, title="prices", snippet="")]


def solved(run: Run, net: Net, answer: Callable[[list[BaseMessage]], Any], declared: list[str]) -> dict[str, Any]:
    return run(solver(net, answer, declared), ROOT)


def opens_then_cites(messages: list[BaseMessage]) -> Any:
    if messages[-1].type != "tool":
        return tool_call("validator_open_url", url=URL)
    return decide(messages, evidence_refs=["s1"])


@pytest.fixture
def net() -> Any:
    with network() as net:
        net.site("93.184.216.34", 80, {"/orders": says(b"<p>3 and 4</p>"), "/prices": says(b"<p>1 each</p>")})
        yield net


def test_a_declared_source_is_opened_and_cited(run: Run, net: Net) -> None:
    result = solved(run, net, opens_then_cites, [URL])
    assert result["verified"]
    assert {check.check_id: check.evidence_refs for check in result["verdict"].checks} == {
        "c1": ["s1"],
        "evidence": ["s1"],
    }


def test_a_source_that_was_refused_cannot_be_cited(run: Run, net: Net) -> None:
    result = solved(run, net, opens_then_cites, [])
    assert result["halt"].type == "recovery_exhausted"
    assert "never opened: s1" in result["verdict"].issues[0]
    assert net.dialed == []


def test_after_a_crash_in_its_tool_loop_a_validator_goes_on_with_what_it_had_opened_and_found(
    run: Run, net: Net
) -> None:
    """A new session alone would number its first page s1 again, and not know what the search had found."""
    saver, died = InMemorySaver(), [True]

    def answer(messages: list[BaseMessage]) -> Any:
        steps = [
            tool_call("validator_open_url", "call_1", url=URL),
            tool_call("validator_web_search", "call_2", query="prices"),
            tool_call("validator_open_url", "call_3", url=FOUND),
        ]
        done = sum(message.type == "tool" for message in messages)
        if done == 2 and died:
            died.pop()
            raise ComponentError("the process died")
        return steps[done] if done < len(steps) else decide(messages, evidence_refs=["s1", "s2"])

    config = {"configurable": {"thread_id": "web"}}
    with pytest.raises(ComponentError, match="died"):
        run(solver(net, answer, [URL], checkpointer=saver), ROOT, config)
    result = run(solver(net, answer, [URL], checkpointer=saver), None, config)
    assert result["verified"], result["verdict"]
    assert len(net.dialed) == 2
