"""The pieces that need no process."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("typer")

from langgraph_recursive.graph.cli.names import new_name
from langgraph_recursive.graph.cli.problems import Problem
from langgraph_recursive.graph.cli.settings import METADATA_KEY, Settings
from langgraph_recursive.graph.view.safe import clean, one_line, shortened, visible


@given(st.text())
def test_shown_text_holds_nothing_that_steers(text: str) -> None:
    shown = visible(text)
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert all(char in "\n\t\u200d" or unicodedata.category(char) not in hidden for char in shown)
    assert "\n" not in one_line(text)
    assert len(shortened(text, 10)) <= 10


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert clean("a\udcffb") == "a\ufffdb"


def test_names_are_not_taken_twice() -> None:
    taken: set[str] = set()
    for _ in range(50):
        taken.add(new_name(taken.__contains__))
    assert len(taken) == 50


def given_settings(**more: Any) -> Settings:
    return Settings.given(**{"model": None, "verify_with": None, "cwd": None, "graph": None, "policy": {}, **more})


def test_settings_survive_the_metadata() -> None:
    settings = given_settings(model="a:b", verify_with=["pytest -q"], policy={"max_depth": 2, "max_children": None})
    assert Settings.stored(settings.metadata()) == settings
    assert Settings.stored({}) is None
    assert given_settings().metadata() == {METADATA_KEY: "{}"}


def test_what_is_given_on_resume_wins() -> None:
    stored = given_settings(model="a:b", verify_with=["pytest -q"], policy={"max_depth": 2})
    merged = stored.updated(given_settings(model="c:d", policy={"max_attempts": 5}))
    assert merged.model == "c:d"
    assert merged.verify_with == ("pytest -q",)
    assert merged.policy == {"max_depth": 2, "max_attempts": 5}
    assert stored.updated(given_settings()) == stored
    with pytest.raises(Problem, match="--graph"):
        given_settings(graph="a:b").updated(given_settings(policy={"max_depth": 1}))
