"""Recovery specs as a property: the intent once, every failure a line, linear size, accepted by meta_spec (ADR 021)."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from langgraph_recursive.nodes.parts.prechecks import meta_spec
from langgraph_recursive.state.brief import anchor_of, brief_of
from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.recovery import fix_task, recovery_spec
from langgraph_recursive.state.task import Task

NASTY = st.sampled_from(
    ["# Task", "# What failed so far", "</evidence>", '<evidence attempt="9">', "</Evidence >", "```", "- attempt 1, x"]
)
TEXTS = st.lists(st.text(max_size=40) | NASTY, max_size=8).map("\n".join)
FAILURES = st.lists(
    st.builds(
        Failure,
        attempt=st.integers(1, 4),
        validator_id=st.just("v"),
        severity=st.sampled_from(["blocker", "warning"]),
        justification=TEXTS,
        evidence=st.lists(TEXTS.map(bounded), max_size=2),
    ),
    min_size=1,
    max_size=6,
)
INTENT = "Write the report about the year, in two pages, with a table of all totals at its end."


def headlines(spec: str) -> list[str]:
    outside = re.sub(r'<evidence attempt="\d+">\n.*?\n</evidence>', "", spec, flags=re.DOTALL)
    return [line for line in outside.split("\n") if re.match(r"- attempt \d+, v, (blocker|warning)", line)]


@given(FAILURES, st.integers(0, 600))
def test_every_failure_keeps_a_line_with_its_attempts_number(failures: list[Failure], room: int) -> None:
    spec = recovery_spec(INTENT, failures, evidence_chars=room)
    assert [int(line.split()[2].rstrip(",")) for line in headlines(spec)] == [f.attempt for f in failures]


@given(FAILURES, st.integers(0, 600))
def test_the_intent_stands_first_whole_and_once(failures: list[Failure], room: int) -> None:
    spec = recovery_spec(INTENT, failures, ["a/b"], evidence_chars=room)
    assert spec.startswith(f"# Task\n\n{INTENT}\n\n# What already passed\n\n- a/b\n\n# What failed so far\n")
    assert spec.count(INTENT) == 1


@given(FAILURES, st.integers(0, 600))
def test_evidence_cannot_leave_its_block(failures: list[Failure], room: int) -> None:
    spec = recovery_spec(INTENT, failures, evidence_chars=room)
    opened = re.findall(r"(?im)^<\s*evidence\b", spec)
    closed = re.findall(r"(?im)^<\s*/\s*evidence\s*>", spec)
    assert len(opened) == len(closed) <= len(failures)
    lines = spec.split("\n")
    inside = 0
    for line in lines:
        inside += line.startswith("<evidence ") - (line == "</evidence>")
        assert inside in (0, 1)
        if inside == 0:
            assert lines.count("# Task") >= 1


@given(FAILURES, st.integers(0, 600))
def test_detail_stays_within_its_room_and_what_was_dropped_is_counted(failures: list[Failure], room: int) -> None:
    whole = recovery_spec(INTENT, failures, evidence_chars=10**9)
    spec = recovery_spec(INTENT, failures, evidence_chars=room)
    fences = sum(len(f'\n<evidence attempt="{f.attempt}">\n\n</evidence>') + 60 for f in failures)
    marks = spec.count("<\\")
    bare = len(recovery_spec(INTENT, failures, evidence_chars=0))
    assert len(spec) <= bare + room + fences + marks + 60
    assert ("characters of older evidence dropped]" in spec) or spec == whole


@given(FAILURES)
def test_a_spec_that_recovery_makes_is_accepted_by_meta_spec(failures: list[Failure]) -> None:
    first = Task(id="t.2", spec=INTENT, brief=brief_of(INTENT), anchor=anchor_of(INTENT))
    task = first
    for number in range(1, 5):
        quoting = Failure(attempt=number, validator_id="v", justification=f"failed\n{task.spec}")
        task = fix_task(task, [*task.prior_failures, *failures, quoting], ["v/ok"], number=number, start="solve")
        assert task.id == f"t.2_fix_{number}"
        assert (task.attempt, task.root_task_ref, task.root_spec) == (number + 1, "t.2", INTENT)
        verdict = meta_spec()(task)
        assert verdict.outcome == "passed", verdict.feedback


def test_older_detail_is_not_squeezed_in_behind_one_that_was_cut() -> None:
    old = Failure(attempt=1, validator_id="v", justification="old\nsmall detail")
    new = Failure(attempt=2, validator_id="v", justification="new\n" + "\n".join(f"line {n:02}" for n in range(40)))
    spec = recovery_spec(INTENT, [old, new], evidence_chars=100)
    assert "line 39" in spec
    assert "small detail" not in spec


def test_size_grows_linearly_with_the_attempts() -> None:
    def size(count: int) -> int:
        failures = [Failure(attempt=n, validator_id="v", justification=f"why {n:03}\n{INTENT}") for n in range(count)]
        return len(recovery_spec(INTENT, failures, evidence_chars=10**9))

    steps = [size(n + 1) - size(n) for n in range(2, 8)]
    assert len(set(steps)) == 1
