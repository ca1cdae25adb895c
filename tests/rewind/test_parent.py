"""What an `agent_parent` goes on with after a rewind: the conversation up to the point, and nothing that came after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph import RewindPoint, open_sqlite, rewind
from parent_tree import ANSWER, TASK, Step, move, parent_solver, steps
from rewind_kit import CONFIG

PLANNED: list[Step] = [("asked at decompose", "t.2"), ("agent", "t.2")]
REVIEWED: list[Step] = [*PLANNED, ("asked at review", "t.2"), ("review_task_result", "t.2")]


@pytest.fixture(params=["memory", "sqlite", "sqlite with history"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
    else:
        with open_sqlite(tmp_path / "runs.db", nested_history="history" in request.param) as opened:
            yield opened


class Talk:
    """What the model was shown for each attempt, first of all."""

    def __init__(self) -> None:
        self.first: dict[str, list[Step]] = {}

    def answered(self, messages: Sequence[BaseMessage]) -> AIMessage:
        shown = steps(messages)
        self.first.setdefault(shown[-1][1], shown)
        return move(messages)


POINTS: list[tuple[RewindPoint, list[Step]]] = [
    ("admit", [("asked at decompose", "t.2_fix_1")]),
    ("decompose", [("asked at decompose", "t.2_fix_1")]),
    ("subtasks", [*PLANNED, ("asked at review", "t.2_fix_1")]),
    ("review", [*PLANNED, ("asked at review", "t.2_fix_1")]),
    ("aggregate", [*REVIEWED, ("asked at aggregate", "t.2_fix_1")]),
]


@pytest.mark.parametrize(("to", "shown"), POINTS, ids=[to for to, _ in POINTS])
def test_a_task_below_the_root_keeps_what_was_said_up_to_the_point(
    saver: Any, to: RewindPoint, shown: list[Step]
) -> None:
    talk = Talk()
    graph = parent_solver(saver, talk.answered)
    graph.invoke(TASK, CONFIG)
    assert rewind(graph, CONFIG, "t.2", to=to) == "t.2_fix_1"
    talk.first.clear()
    assert graph.invoke(None, CONFIG)["output"] == f"{ANSWER}_fix_1"
    assert talk.first["t.2_fix_1"] == shown
    assert talk.first["t_fix_1"] == [
        ("asked at decompose", "t"),
        ("agent", "t"),
        ("agent", "t"),
        ("asked at review", "t_fix_1"),
    ]


def test_a_leaf_taken_back_leaves_the_conversations_above_it_at_their_children(saver: Any) -> None:
    talk = Talk()
    graph = parent_solver(saver, talk.answered)
    graph.invoke(TASK, CONFIG)
    rewind(graph, CONFIG, "t.2.1", to="verify")
    talk.first.clear()
    assert graph.invoke(None, CONFIG)["success"]
    assert "t.2.1_fix_1" not in talk.first
    assert talk.first["t.2_fix_1"] == [*PLANNED, ("asked at review", "t.2_fix_1")]


def test_of_the_root_too(saver: Any) -> None:
    talk = Talk()
    graph = parent_solver(saver, talk.answered)
    graph.invoke(TASK, CONFIG)
    rewind(graph, CONFIG, "t", to="aggregate")
    talk.first.clear()
    assert graph.invoke(None, CONFIG)["output"] == f"{ANSWER}_fix_1"
    assert [step for step in talk.first["t_fix_1"] if step[0] == "asked at decompose"] == [("asked at decompose", "t")]
    assert talk.first["t_fix_1"][-1] == ("asked at aggregate", "t_fix_1")
    assert ("asked at aggregate", "t") not in talk.first["t_fix_1"]
