"""Reading plain text answers, and what components may return."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from langgraph_recursive.nodes.conversions import as_bool, as_plan, as_report, as_verdict
from langgraph_recursive.nodes.parsing import bullets, judgement, says_yes
from langgraph_recursive.state.brief import SubTask, child_brief
from langgraph_recursive.state.errors import ComponentError, UnparsableOutputError

NO_VERDICTS = [
    "I cannot ACCEPT",
    "ACCEPTING this would be wrong",
    "ACCEPTED",
    "ACCEPT-able? No.",
    "ACCEPT or REJECT?",
    "ACCEPT/REJECT: cannot tell",
    "ACCEPT | REJECT",
    "**ACCEPT** or **REJECT**",
    "ACCEPT and REJECT",
    "NOT ACCEPT",
    "_ACCEPT",
    '"ACCEPT" would be wrong',
    "`ACCEPT` is what you want to hear",
    "Verdict: ACCEPT",
    "accept",
    "Accept.",
    "",
    "   \n",
    "**ACCEPT**ING it would be wrong",
    '{"checks": [{"check_id": "answer", "status": "passed"',
    "\uff21\uff23\uff23\uff25\uff30\uff34",  # ACCEPT in full-width letters
    "\u200bACCEPT",
]


@pytest.mark.parametrize("text", NO_VERDICTS)
def test_a_reply_that_does_not_start_with_the_word_accepts_nothing(text: str) -> None:
    assert judgement(text)[0] is None


@pytest.mark.parametrize(
    "text", ["ACCEPT", " ACCEPT\n", "ACCEPT: fine", "**ACCEPT**: fine", "ACCEPT - fine", "# ACCEPT"]
)
def test_accept_as_the_first_word_accepts(text: str) -> None:
    decision, feedback = judgement(text)
    assert decision is True
    assert feedback in ("", "fine")


@pytest.mark.parametrize(
    "text", ["REJECT: too short", "REJECT\ntoo short", "**REJECT** too short", "REJECT - too short"]
)
def test_reject_gives_the_rest_as_feedback(text: str) -> None:
    assert judgement(text) == (False, "too short")


@given(st.text())
def test_judgement_reads_any_text(text: str) -> None:
    decision, feedback = judgement(text)
    assert isinstance(feedback, str)
    if decision:
        assert text.strip().lstrip("*# \t\n").startswith("ACCEPT")


@given(st.text(alphabet="ACEPTRJ or*:-\n\"'`/|_", max_size=30))
def test_only_the_first_word_accepts(text: str) -> None:
    if judgement(text)[0]:
        assert text.lstrip("*# \t\n").startswith("ACCEPT")
        assert not text.lstrip("*# \t\n").startswith(("ACCEPTA", "ACCEPTE", "ACCEPT/", "ACCEPT|", 'ACCEPT"', "ACCEPT_"))


@pytest.mark.parametrize(
    ("text", "atomic"),
    [("yes", True), (" YES, it is", True), ("Yes.", True), ("no", False), ("", False), ("I say yes", False)],
)
def test_an_answer_that_starts_with_yes_is_a_yes(text: str, atomic: bool) -> None:
    assert says_yes(text) is atomic


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("- a\n* b", ["a", "b"]),
        ("Here:\n- a\n\n- b\nDone.", ["a", "b"]),
        ("  - a\n  - b", ["a", "b"]),
        (" - a\n- b", ["a", "b"]),
        ("- a\n  - detail\n\t- detail\n- b", ["a", "b"]),
        ("-a\n*b\n1. c\n+ d\n• e", []),
        ("- \n-  \n- a", ["a"]),
        ("**bold**\n--- \n- - a", ["- a"]),
        ("- a\r\n- b\r\n", ["a", "b"]),
        ("", []),
    ],
)
def test_only_marked_lines_are_entries(text: str, entries: list[str]) -> None:
    assert bullets(text) == entries


@given(st.text())
def test_bullets_reads_any_text(text: str) -> None:
    for entry in bullets(text):
        assert entry
        assert entry == entry.strip()
        assert len(entry.splitlines()) == 1


@given(st.lists(st.from_regex(r"[a-z][a-z ]{0,20}", fullmatch=True), max_size=6), st.sampled_from(["- ", "* "]))
def test_a_list_is_read_back(entries: list[str], mark: str) -> None:
    text = "\n".join(mark + entry for entry in entries)
    assert bullets(text) == [entry.strip() for entry in entries]


@given(st.text())
def test_plain_texts_never_break_a_role(text: str) -> None:
    as_bool(text)
    as_plan(text)
    as_report(text)
    with contextlib.suppress(UnparsableOutputError):
        assert as_verdict(text).outcome in ("passed", "failed")


@pytest.mark.parametrize("text", NO_VERDICTS)
def test_a_reply_without_a_verdict_is_unparsable(text: str) -> None:
    with pytest.raises(UnparsableOutputError):
        as_verdict(AIMessage(text))


def test_an_empty_answer_of_a_model_is_asked_for_again_but_not_one_of_a_function() -> None:
    with pytest.raises(UnparsableOutputError):
        as_report(AIMessage(""))
    with pytest.raises(UnparsableOutputError):
        as_report({"messages": [AIMessage(" ")]})
    assert as_report("").text == ""


def test_the_text_of_a_message_is_a_plain_str() -> None:
    assert type(as_report(AIMessage("x")).outputs[0]["text"]) is str


def test_a_plan_may_mix_texts_briefs_and_subtasks() -> None:
    brief = child_brief("b", parent_objective="all")
    assert as_plan(["a", brief, SubTask("c", [0])]) == [SubTask("a"), SubTask(brief), SubTask("c", [0])]
    assert as_plan(None) == []


@pytest.mark.parametrize("value", [7, [""], [3], [{"task": ""}, {"wrong": 1}]])
def test_a_plan_of_another_shape_is_an_error_of_the_program(value: object) -> None:
    with pytest.raises(ComponentError):
        as_plan(value)
