"""A validator with the real web tools: what it passes as evidence it has opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.parts.web.tools import WebSession
from langgraph_recursive.state.brief import TaskBrief
from langgraph_recursive.state.report import TaskReport, answer_report
from scripted import ScriptedChatModel, tool_call
from validation_kit import brief, decide
from web_sites import Names, Net, network, says

Run = Callable[..., dict[str, Any]]

URL = "http://shop.example/orders"
ROOT: TaskBrief = brief(validation_scopes=["evidence"])


def solved(run: Run, net: Net, answer: Callable[[list[BaseMessage]], Any], declared: list[str]) -> dict[str, Any]:
    def session(report: TaskReport) -> WebSession:
        names = Names(shop_example=[["93.184.216.34"]])
        return WebSession(declared=report.source_urls, resolver=names, connect=net.connect)

    graph = create_recursive_solver(
        solver=lambda task: answer_report("7").model_copy(update={"source_urls": declared}),
        root_validator_model=ScriptedChatModel(answers=answer, tools=True),
        validator_tools=session,
    )
    return run(graph, ROOT)


def opens_then_cites(messages: list[BaseMessage]) -> Any:
    if messages[-1].type != "tool":
        return tool_call("validator_open_url", url=URL)
    return decide(messages, evidence_refs=["s1"])


@pytest.fixture
def net() -> Any:
    with network() as net:
        net.site("93.184.216.34", 80, {"/orders": says(b"<p>3 and 4</p>")})
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
