"""ServerSettings: what the ready graph is made of, from a run's config and from the environment."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig

from langgraph_recursive.graph.server import ServerSettings
from langgraph_recursive.state.errors import InvalidInputError, MissingSolverError
from scripted import ScriptedChatModel


def configured(**values: Any) -> RunnableConfig:
    return {"configurable": values}


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that models are asked for; every one is a scripted model."""
    names: list[str] = []

    def init(name: str) -> ScriptedChatModel:
        names.append(name)
        return ScriptedChatModel(
            answers=lambda messages: "ACCEPT" if "strictly" in messages[0].text else "an answer", repeat=True
        )

    monkeypatch.setattr("langchain.chat_models.init_chat_model", init)
    return names


def test_the_config_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGGRAPH_RECURSIVE_MODEL", "some:model")
    monkeypatch.setenv("LANGGRAPH_RECURSIVE_MAX_DEPTH", "2")
    monkeypatch.setenv("LANGGRAPH_RECURSIVE_MAX_ATTEMPTS", "")
    settings = ServerSettings.of(configured(model="other:model", thread_id="1", max_children=None))
    assert settings == ServerSettings(model="other:model", max_depth=2)
    assert ServerSettings.of({}).model == "some:model"


def test_a_wrong_value_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGGRAPH_RECURSIVE_MAX_DEPTH", "deep")
    with pytest.raises(InvalidInputError, match=r"LANGGRAPH_RECURSIVE_MAX_DEPTH = 'deep': Input should be a valid int"):
        ServerSettings.of({})


@pytest.mark.parametrize(("verify", "verified"), [(None, True), (True, True), (False, False)])
def test_a_model_by_name_judges_too_unless_told_otherwise(
    named: list[str], verify: bool | None, verified: bool
) -> None:
    result = ServerSettings(model="some:model", verify=verify, max_depth=0).solver().invoke("a task")
    assert (result["output"], result["verified"]) == ("an answer", verified)
    assert named == ["some:model"]


def test_every_limit_arrives(named: list[str]) -> None:
    limits = {"max_depth": 1, "max_children": 2, "max_attempts": 3, "max_fixes_total": 4, "max_concurrency": 5}
    config = configured(model="some:model", max_task_seconds=6.5, interrupt_on_halt=True, max_llm_calls=7, **limits)
    policy = ServerSettings.of(config).solver().policy
    assert policy.model_dump(include=set(limits)) == limits
    assert (policy.max_task_seconds, policy.interrupt_on_halt, policy.budget.max_llm_calls) == (6.5, True, 7)


def test_the_embedded_model_does_not_judge() -> None:
    assert ServerSettings(model="embedded").solver().parts.verifiers == []


def test_without_a_model_there_is_no_solver() -> None:
    with pytest.raises(MissingSolverError, match=r"set LANGGRAPH_RECURSIVE_MODEL .* or to 'embedded'"):
        ServerSettings().solver()
