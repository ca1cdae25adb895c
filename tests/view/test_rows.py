"""One layout of a tree in lines, for text, for the terminal and for `show`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_recursive.graph.view.growing import GrowingTree
from langgraph_recursive.graph.view.rows import Layout, plain
from langgraph_recursive.graph.view.safe import cells
from langgraph_recursive.graph.view.views import TaskView
from view_kit import HOSTILE, Seen


def event(kind: str, task_id: str, parent: str | None = None, attempt: int = 1, **data: Any) -> dict[str, Any]:
    place = {"run_id": "r", "task_id": task_id, "parent_id": parent, "attempt": attempt, "depth": task_id.count(".")}
    return {"type": kind, **place, "time": 1.0, "duration_ms": None, "usage": None, "data": data}


def grown() -> GrowingTree:
    """t.1 with its child is done, t.2 works, t.3 and t.4 have not started."""
    tree = GrowingTree()
    tree.feed(event("task_started", "t", objective="all", start="decompose"))
    tree.feed(event("decomposed", "t", children=[[f"t.{n}", f"part {n}"] for n in range(1, 5)]))
    for n in (1, 2):
        tree.feed(event("task_started", f"t.{n}", "t", objective=f"part {n}", start="decompose"))
    tree.feed(event("decomposed", "t.1", "t", children=[["t.1.1", "piece"]]))
    tree.feed(event("task_started", "t.1.1", "t.1", objective="piece", start="solve"))
    tree.feed(event("accepted", "t.1.1", "t.1", verified=True, answer="x"))
    tree.feed(event("accepted", "t.1", "t", verified=True, answer="y"))
    return tree


def shown(tree: GrowingTree, **wanted: Any) -> list[str]:
    return [plain(line) for line in Layout(**wanted).lines(tree.roots())]


def test_a_plan_given_up_says_so() -> None:
    tree = grown()
    tree.feed(event("recovering", "t", failures=1, fix="t_fix_1"))
    tree.feed(event("task_started", "t_fix_1", attempt=2, objective="all", start="decompose"))
    tree.feed(event("decomposed", "t_fix_1", attempt=2, children=[["t_fix_1.1", "other"]]))
    assert sum("plan given up" in line for line in shown(tree)) == 4
    assert not any("plan given up" in line for line in shown(tree, details=False, height=5))


@pytest.mark.parametrize("height", [3, 4, 5, 10])
def test_a_tall_tree_folds_what_is_finished_first(height: int) -> None:
    lines = shown(grown(), details=False, height=height)
    assert len(lines) <= height
    if height == 5:
        assert [line.split("  ")[0] for line in lines] == [
            "┬ t all",
            "├─ ✓ t.1 part 1 (+1)",
            "├─ ◌ t.2 part 2",
            "├─ · t.3 part 3",
            "└─ · t.4 part 4",
        ]
    if height == 3:
        assert lines[-1] == "… 3 more tasks"


def test_numbers_stand_below_each_other(good: Seen) -> None:
    tree = GrowingTree()
    for told in good.events:
        tree.feed(told)
    lines = shown(tree, details=False)
    assert len({cells(line[: line.index("  checked")]) + len(line) - len(line.rstrip()) for line in lines}) == 1


def test_times_run_on_while_a_run_goes_on() -> None:
    [line] = [line for line in shown(grown(), details=False, now=5.0) if "t.2" in line]
    assert line.endswith("  0 calls  4.0s")


@given(st.text(), st.integers(20, 120))
def test_no_text_breaks_the_layout(text: str, width: int) -> None:
    task = TaskView("t", objective=text + HOSTILE, status="working", calls=1)
    task.children = [TaskView("t.1", "t", objective=HOSTILE + text, asks=[text])]
    for line in Layout(width=max(width, 45)).lines([task]):
        assert cells(plain(line)) <= max(width, 45)
        assert "\n" not in plain(line)
        assert "\x1b" not in plain(line)
