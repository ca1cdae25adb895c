"""The pieces that need no process."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("typer")

from langgraph_recursive.graph.cli.look import lines
from langgraph_recursive.graph.cli.names import new_name
from langgraph_recursive.graph.cli.problems import Problem
from langgraph_recursive.graph.cli.settings import METADATA_KEY, Settings
from langgraph_recursive.graph.view.rows import Tree
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


def event(kind: str, task_id: str, parent: str | None = None, attempt: int = 1, **data: Any) -> dict[str, Any]:
    return {"type": kind, "task_id": task_id, "parent_id": parent, "attempt": attempt, "time": 1.0, "data": data}


def grown() -> Tree:
    tree = Tree()
    tree.feed(event("task_started", "t", objective="all", start="decompose"))
    tree.feed(event("decomposed", "t", children=[[f"t.{n}", f"part {n}"] for n in range(1, 5)]))
    for n in (1, 2):
        tree.feed(event("task_started", f"t.{n}", "t", objective=f"part {n}", start="decompose"))
    tree.feed(event("decomposed", "t.1", "t", children=[["t.1.1", "piece"]]))
    tree.feed(event("task_started", "t.1.1", "t.1", objective="piece", start="solve"))
    tree.feed(event("accepted", "t.1.1", "t.1", verified=True))
    tree.feed(event("accepted", "t.1", "t", verified=True))
    return tree


def test_a_plan_given_up_is_no_longer_shown() -> None:
    tree = grown()
    tree.feed(event("recovering", "t", failures=1, fix="t_fix_1"))
    tree.feed(event("task_started", "t_fix_1", attempt=2, objective="all", start="decompose"))
    tree.feed(event("decomposed", "t_fix_1", attempt=2, children=[["t_fix_1.1", "other"]]))
    assert [row.id for row in tree.shown()] == ["t", "t_fix_1.1"]
    assert tree.rows["t"].attempt == 2
    assert len(tree.children(tree.rows["t"], superseded=True)) == 5


@pytest.mark.parametrize("room", [3, 4, 5, 10])
def test_a_tall_tree_folds_what_is_finished_first(room: int) -> None:
    shown, hidden = lines(grown(), room)
    assert len(shown) + bool(hidden) <= room
    if room == 5:
        assert [(row.id, folded) for _, row, folded in shown] == [
            ("t", 0),
            ("t.1", 1),
            ("t.2", 0),
            ("t.3", 0),
            ("t.4", 0),
        ]
