"""A resume restores what was pending: reports without a review, and actions that were approved and have not run."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from langgraph_recursive.graph import open_sqlite
from langgraph_recursive.state.errors import ComponentError
from langgraph_recursive.state.goal import GoalStatus, goal_status
from langgraph_recursive.state.task_state import TaskState
from review_kit import CONFIG, Tree, brief, decide, suggesting
from saver_kinds import DURABLE_KINDS, SaverKind

PLANS = {"job": ["a", "b", "c"]}
CHILDREN = ["t.1", "t.2", "t.3"]


class Broken:
    """A tree whose reviewer, or one of whose children, breaks the machinery, until it is mended."""

    def __init__(self, *, at_review: str = "", at_solve: str = "") -> None:
        self.at_review = at_review
        self.at_solve = at_solve
        self.asked: Counter[str] = Counter()
        self.solved: Counter[str] = Counter()

    def build(self, saver: Any, reviews: dict[str, Any] | None = None, **options: Any) -> Tree:
        tree: Tree

        def review(report: Any, result: Any, ctx: Any) -> Any:
            if report.child_task_id == self.at_review:
                raise ComponentError("the machinery broke")
            self.asked[report.child_task_id] += 1
            return tree.review(report, result, ctx)

        def solve(task: Any) -> Any:
            if task.id == self.at_solve:
                raise ComponentError("the machinery broke")
            self.solved[task.id] += 1
            return tree.solve(task)

        tree = Tree(PLANS, reviews, checkpointer=saver, reviewer=review, solver=solve, **options)
        return tree


def driven(graph: Any, given: Any, in_async: bool) -> Any:
    return asyncio.run(graph.ainvoke(given, CONFIG)) if in_async else graph.invoke(given, CONFIG)


@pytest.mark.parametrize("in_async", [False, True], ids=["invoke", "ainvoke"])
@pytest.mark.parametrize("breaks_at", CHILDREN)
def test_in_the_middle_of_a_batch(breaks_at: str, in_async: bool, tmp_path: Path) -> None:
    broken = Broken(at_review=breaks_at)
    with open_sqlite(tmp_path / "db") as saver:
        with pytest.raises(ComponentError):
            driven(broken.build(saver).graph, "job", in_async)
        done = CHILDREN[: CHILDREN.index(breaks_at)]
        assert sorted(broken.asked) == done
    broken.at_review = ""
    with open_sqlite(tmp_path / "db") as saver:  # as another process would
        tree = broken.build(saver)
        assert [name for name, _ in tree.decisions] == done
        assert goal_status(tree.state) is GoalStatus.PENDING_REVIEW
        result = driven(tree.graph, None, in_async)
        assert result["output"] == "t.1+t.2+t.3"
        assert [name for name, _ in tree.decisions] == CHILDREN
        assert [review.sequence for review in tree.state.reviews] == [4, 5, 6]
    assert broken.asked == Counter(CHILDREN)  # each report is put to the reviewer once
    assert broken.solved == Counter(CHILDREN)


@pytest.mark.parametrize("in_async", [False, True], ids=["invoke", "ainvoke"])
def test_approved_actions_that_have_not_run(in_async: bool, tmp_path: Path) -> None:
    """A new child is approved; then the reviewer breaks at the last report of the batch, which it revises later."""
    more = brief("more of a")
    reviews = {"t.1": decide("ACCEPT_REFINE"), "t.2": "REVISE_CHILD"}
    options: dict[str, Any] = {"answers": {"t.1": suggesting("t.1", "REFINE", more)}, "bad": ["t.2"]}
    broken = Broken(at_review="t.2")
    with open_sqlite(tmp_path / "db") as saver, pytest.raises(ComponentError):
        driven(broken.build(saver, reviews, **options).graph, "job", in_async)
    broken.at_review = ""
    with open_sqlite(tmp_path / "db") as saver:
        tree = broken.build(saver, reviews, **options)
        [action] = tree.state.next_actions
        assert (action.kind, action.child_id, action.brief) == ("create", "t.4", more)
        assert driven(tree.graph, None, in_async)["output"] == "t.1+t.2_fix_1+t.3+t.4"
        assert tree.state.next_actions == []
    assert broken.solved == Counter([*CHILDREN, "t.4", "t.2_fix_1"])
    assert max(broken.asked.values()) == 1


@pytest.mark.parametrize("kind", DURABLE_KINDS)
@pytest.mark.parametrize("cut_off", ["t.4", "t.2_fix_1"])
def test_approved_actions_that_were_cut_off(kind: SaverKind, cut_off: str, tmp_path: Path) -> None:
    reviews = {"t.1": decide("ACCEPT_REFINE"), "t.2": "REVISE_CHILD"}
    options: dict[str, Any] = {"answers": {"t.1": suggesting("t.1", "REFINE", brief("more of a"))}, "bad": ["t.2"]}
    broken, location = Broken(at_solve=cut_off), kind.new_location(tmp_path)
    with kind.open_sync(location) as saver, pytest.raises(ComponentError):
        broken.build(saver, reviews, **options).graph.invoke("job", CONFIG)
    broken.at_solve = ""
    with kind.open_sync(location) as saver:
        tree = broken.build(saver, **options)
        assert [action.child_id for action in tree.state.next_actions] == ["t.4", "t.2"]
        assert tree.graph.invoke(None, CONFIG)["output"] == "t.1+t.2_fix_1+t.3+t.4"
    assert broken.asked == Counter([*CHILDREN, "t.4", "t.2_fix_1"])
    assert broken.solved == Counter([*CHILDREN, "t.4", "t.2_fix_1"])


JOB = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from langgraph_recursive.graph import open_sqlite
from review_kit import CONFIG, Tree

def review(report, result, ctx):
    if report.child_task_id == "t.2":
        os.kill(os.getpid(), signal.SIGKILL)
    return tree.review(report, result, ctx)

with open_sqlite(sys.argv[1]) as saver:
    tree = Tree({"job": ["a", "b", "c"]}, checkpointer=saver, reviewer=review)
    tree.graph.invoke("job", CONFIG, durability="sync")
"""


async def test_killed_while_the_reviewer_thinks(tmp_path: Path) -> None:
    support = Path(__file__).parent.parent / "support"
    job = await asyncio.create_subprocess_exec(sys.executable, "-c", JOB, str(tmp_path / "db"), str(support))
    assert await job.wait() == -9
    broken = Broken()
    async with open_sqlite(tmp_path / "db") as saver:
        tree = broken.build(saver)
        values = (await tree.graph.aget_state(CONFIG)).values
        state = TaskState.model_validate(values["state"])
        assert [review.child_task_id for review in state.reviews] == ["t.1"]
        assert (await tree.graph.ainvoke(None, CONFIG))["output"] == "t.1+t.2+t.3"
    assert sorted(broken.asked) == ["t.2", "t.3"]
    assert broken.solved == Counter()
