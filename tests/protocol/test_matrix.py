"""The decision matrix, typed out: by verdict, report, whether it is the last pending one, and open actions."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from langgraph_recursive.state.review import VERDICT_MATRIX, ReviewDecision, allowed_decisions

ORDER = ("ACCEPT_REFINE", "REJECT_REFINE", "REVISE_CHILD", "DESCEND_AGAIN", "REPLAN_CURRENT", "ASCEND", "FAIL")

# One column per decision, in the order above: x is allowed.
# verdict  report          last   open      AR RR RC DA RP AS FA
TABLE = """
passed     satisfied       last   done      x  x  x  x  .  x  x
passed     satisfied       last   open      x  x  x  x  .  .  .
passed     satisfied       more   done      x  x  x  x  .  .  .
passed     satisfied       more   open      x  x  x  x  .  .  .
passed     partial         last   done      x  x  x  x  .  x  x
passed     partial         last   open      x  x  x  x  .  .  .
passed     partial         more   done      x  x  x  x  .  .  .
passed     partial         more   open      x  x  x  x  .  .  .
passed     failed          last   done      .  .  x  .  .  .  x
passed     failed          last   open      .  .  x  .  .  .  .
passed     failed          more   done      .  .  x  .  .  .  .
passed     failed          more   open      .  .  x  .  .  .  .
passed     protocol_error  last   done      .  .  x  .  .  .  x
passed     protocol_error  last   open      .  .  x  .  .  .  .
passed     protocol_error  more   done      .  .  x  .  .  .  .
passed     protocol_error  more   open      .  .  x  .  .  .  .
failed     satisfied       last   done      .  .  x  .  x  .  x
failed     satisfied       last   open      .  .  x  .  x  .  .
failed     satisfied       more   done      .  .  x  .  x  .  .
failed     satisfied       more   open      .  .  x  .  x  .  .
failed     partial         last   done      .  .  x  .  x  .  x
failed     partial         last   open      .  .  x  .  x  .  .
failed     partial         more   done      .  .  x  .  x  .  .
failed     partial         more   open      .  .  x  .  x  .  .
failed     failed          last   done      .  .  x  .  .  .  x
failed     failed          last   open      .  .  x  .  .  .  .
failed     failed          more   done      .  .  x  .  .  .  .
failed     failed          more   open      .  .  x  .  .  .  .
failed     protocol_error  last   done      .  .  x  .  .  .  x
failed     protocol_error  last   open      .  .  x  .  .  .  .
failed     protocol_error  more   done      .  .  x  .  .  .  .
failed     protocol_error  more   open      .  .  x  .  .  .  .
unknown    satisfied       last   done      .  .  x  .  x  .  x
unknown    satisfied       last   open      .  .  x  .  x  .  .
unknown    satisfied       more   done      .  .  x  .  x  .  .
unknown    satisfied       more   open      .  .  x  .  x  .  .
unknown    partial         last   done      .  .  x  .  x  .  x
unknown    partial         last   open      .  .  x  .  x  .  .
unknown    partial         more   done      .  .  x  .  x  .  .
unknown    partial         more   open      .  .  x  .  x  .  .
unknown    failed          last   done      .  .  x  .  .  .  x
unknown    failed          last   open      .  .  x  .  .  .  .
unknown    failed          more   done      .  .  x  .  .  .  .
unknown    failed          more   open      .  .  x  .  .  .  .
unknown    protocol_error  last   done      .  .  x  .  .  .  x
unknown    protocol_error  last   open      .  .  x  .  .  .  .
unknown    protocol_error  more   done      .  .  x  .  .  .  .
unknown    protocol_error  more   open      .  .  x  .  .  .  .
error      satisfied       last   done      .  .  x  .  .  .  x
error      satisfied       last   open      .  .  x  .  .  .  .
error      satisfied       more   done      .  .  x  .  .  .  .
error      satisfied       more   open      .  .  x  .  .  .  .
error      partial         last   done      .  .  x  .  .  .  x
error      partial         last   open      .  .  x  .  .  .  .
error      partial         more   done      .  .  x  .  .  .  .
error      partial         more   open      .  .  x  .  .  .  .
error      failed          last   done      .  .  x  .  .  .  x
error      failed          last   open      .  .  x  .  .  .  .
error      failed          more   done      .  .  x  .  .  .  .
error      failed          more   open      .  .  x  .  .  .  .
error      protocol_error  last   done      .  .  x  .  .  .  x
error      protocol_error  last   open      .  .  x  .  .  .  .
error      protocol_error  more   done      .  .  x  .  .  .  .
error      protocol_error  more   open      .  .  x  .  .  .  .
"""

ROWS = [line.split() for line in TABLE.strip().splitlines()]


def cells() -> dict[tuple[str, ...], bool]:
    """The table as (verdict, report, last, open, decision): allowed."""
    return {(*row[:4], decision): mark == "x" for row in ROWS for decision, mark in zip(ORDER, row[4:], strict=True)}


def computed() -> dict[tuple[str, ...], bool]:
    """What the code allows, for every combination."""
    found: dict[tuple[str, ...], bool] = {}
    verdicts: Any = ("passed", "failed", "unknown", "error")
    reports: Any = ("satisfied", "partial", "failed", "protocol_error")
    for verdict, report, last, actions in itertools.product(verdicts, reports, ("last", "more"), ("done", "open")):
        allowed = allowed_decisions(verdict, report, last=last == "last", open_actions=actions == "open")
        for decision in ORDER:
            found[verdict, report, last, actions, decision] = ReviewDecision(decision) in allowed
    return found


def test_every_cell_is_as_typed() -> None:
    assert computed() == cells()
    assert len(cells()) == 4 * 4 * 2 * 2 * 7


def test_the_decisions_are_the_seven_of_the_document() -> None:
    assert tuple(decision.value for decision in ReviewDecision) == ORDER


@pytest.mark.parametrize(("verdict", "decision"), list(itertools.product(VERDICT_MATRIX, ReviewDecision)))
def test_each_flipped_cell_breaks_the_table(
    verdict: Any, decision: ReviewDecision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERDICT_MATRIX, verdict, VERDICT_MATRIX[verdict] ^ {decision})
    assert computed() != cells()


class TestHardConstraints:
    @pytest.mark.parametrize("report", ["failed", "protocol_error"])
    def test_a_report_without_an_answer_allows_only_revise_and_fail(self, report: Any) -> None:
        for verdict in VERDICT_MATRIX:
            for last, actions in itertools.product((True, False), repeat=2):
                allowed = allowed_decisions(verdict, report, last=last, open_actions=actions)
                assert allowed <= {ReviewDecision.REVISE_CHILD, ReviewDecision.FAIL}

    @pytest.mark.parametrize(("last", "actions"), [(False, False), (False, True), (True, True)])
    def test_ascend_and_fail_need_the_last_report_and_no_open_action(self, last: bool, actions: bool) -> None:
        reports: Any = ("satisfied", "partial", "failed", "protocol_error")
        for verdict, report in itertools.product(VERDICT_MATRIX, reports):
            allowed = allowed_decisions(verdict, report, last=last, open_actions=actions)
            assert not allowed & {ReviewDecision.ASCEND, ReviewDecision.FAIL}
