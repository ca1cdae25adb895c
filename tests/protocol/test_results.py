"""Reports and verdicts of children: whose they are, and where a rejected one starts again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from langgraph_recursive.nodes.subtasks import result_of
from langgraph_recursive.state.errors import MixedResultError
from langgraph_recursive.state.report import failed_report
from langgraph_recursive.state.task import PlannedChild
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.verdict import ValidationResult
from review_kit import CONFIG, Tree, brief, partial
from validation_kit import report, task

Run = Callable[..., dict[str, Any]]


def ended(reports: str, verdict_on: str) -> TaskState:
    return TaskState(
        current=task("t.1"),
        report=report(child_task_id=reports),
        verdict=ValidationResult(evaluated_task_id=verdict_on, outcome="passed"),
    )


class TestWhose:
    """A result is taken from nobody but the direct child that was started, and its verdict is on what it reports."""

    CHILD = PlannedChild(id="t.1", brief=brief("count"))

    def test_a_report_and_its_verdict_are_of_one_attempt_of_the_direct_child(self) -> None:
        assert result_of(self.CHILD, ended("t.1_fix_1", "t.1_fix_1"), keep=False).passed

    @pytest.mark.parametrize("reports", ["t.2", "t.1.1", "t"])
    def test_the_report_of_another_task_is_refused(self, reports: str) -> None:
        with pytest.raises(MixedResultError, match=f"with the result of {reports}"):
            result_of(self.CHILD, ended(reports, reports), keep=False)

    @pytest.mark.parametrize("verdict_on", ["t.2", "t.1_fix_1", ""])
    def test_a_verdict_on_another_attempt_is_refused(self, verdict_on: str) -> None:
        with pytest.raises(MixedResultError, match="verdict on") as error:
            result_of(self.CHILD, ended("t.1", verdict_on), keep=False)
        assert (error.value.field, error.value.value) == ("evaluated_task_id", verdict_on)


class TestRetryFrom:
    """`failed` and `unknown` say where to start again, `passed` and `error` do not (rules.md 26)."""

    def test_a_child_without_an_answer_starts_again_where_it_started(self, run: Run) -> None:
        tree = Tree({"w": ["a"]}, {"t.1": "REVISE_CHILD"}, answers={"t.1": failed_report("no answer")})
        assert run(tree.graph, {"task": "w"}, CONFIG)["success"]
        (_, verdict, _), *_ = tree.seen
        assert verdict.outcome == "failed"
        assert verdict.retry_from is not None
        assert (verdict.retry_from.task_id, verdict.retry_from.at) == ("t.1", "decompose")
        assert tree.state.reviews[0].retry_from == verdict.retry_from

    @pytest.mark.parametrize(
        ("answer", "bad", "outcome"),
        [
            ("7", False, "passed"),
            ("7", True, "failed"),
            (partial("half"), False, "failed"),
            (OSError(), False, "failed"),
        ],
    )
    def test_it_is_there_for_every_rejection_and_for_nothing_else(
        self, run: Run, answer: Any, bad: bool, outcome: str
    ) -> None:
        tree = Tree({"w": ["a"]}, answers={"t.1": answer}, bad=["t.1"] if bad else [])
        run(tree.graph, {"task": "w"}, CONFIG)
        (_, verdict, _), *_ = tree.seen
        assert verdict.outcome == outcome
        assert (verdict.retry_from is not None) is (outcome == "failed")

    def test_an_error_has_none(self, run: Run) -> None:
        tree = Tree({"w": ["a"]}, verifiers=[lambda task: None])
        run(tree.graph, {"task": "w"}, CONFIG)
        (_, verdict, _), *_ = tree.seen
        assert (verdict.outcome, verdict.retry_from) == ("error", None)
