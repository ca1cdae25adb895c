"""Briefs and anchors: bounds, conversions, and what reads as the same task (rule 25)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from langgraph_recursive.state.brief import (
    ANCHOR_CHARS,
    BRIEF_CHARS,
    ContextRef,
    RootTaskAnchor,
    SubTask,
    TaskBrief,
    anchor_of,
    brief_of,
    child_brief,
    render_brief,
    same_task,
)
from langgraph_recursive.state.errors import InvalidInputError

# pydantic and Python strip different control characters; they are not the point here.
CHARACTERS = st.characters(exclude_categories=["Cc", "Cs"])
FILLED = st.text(CHARACTERS, min_size=1, max_size=300).filter(str.strip)


def brief(**fields: Any) -> TaskBrief:
    given_fields: dict[str, Any] = {
        "objective": "o",
        "reason": "r",
        "completion_criteria": ["c"],
        "expected_outputs": ["e"],
    }
    return TaskBrief(**{**given_fields, **fields})


@pytest.mark.parametrize("field", ["objective", "reason", "completion_criteria", "expected_outputs"])
@pytest.mark.parametrize("empty", ["", "  ", [], [" "]])
def test_a_required_field_may_not_be_empty(field: str, empty: Any) -> None:
    with pytest.raises(ValidationError):
        brief(**{field: empty})


@pytest.mark.parametrize(
    "fields",
    [
        {"mood": "good"},
        {"context": {"when": object()}},
        {"context": {"n": float("nan")}},
        {"validation_scopes": ["root"]},
        {"context_refs": [{"ref_id": "", "version": "1"}]},
    ],
)
def test_what_is_no_brief_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        brief(**fields)


def test_texts_are_stripped_and_distinct() -> None:
    made = brief(constraints=[" a", "a ", "", "b"])
    assert made.constraints == ["a", "b"]


def test_the_scope_task_is_always_validated_and_scopes_are_in_order() -> None:
    assert brief(validation_scopes=["output", "evidence"]).validation_scopes == ["evidence", "output", "task"]


def test_references_are_distinct() -> None:
    ref = ContextRef(ref_id="a", version="1")
    assert brief(context_refs=[ref, ref]).context_refs == [ref]


@pytest.mark.parametrize(("kind", "limit"), [("anchor", ANCHOR_CHARS), ("brief", BRIEF_CHARS)])
def test_a_bound_is_on_the_normalized_json(kind: str, limit: int) -> None:
    def made(text: str) -> Any:
        return RootTaskAnchor(objective=text, completion_criteria=["c"]) if kind == "anchor" else brief(objective=text)

    room = limit - len(made("x").normalized()) + 1
    assert len(made("x" * room).normalized()) == limit
    with pytest.raises(ValidationError, match=f"at most {limit}"):
        made("x" * (room + 1))


def test_a_hash_does_not_depend_on_order_or_space() -> None:
    one = brief(context={"a": 1, "b": 2}, objective="x")
    two = brief(context={"b": 2, "a": 1}, objective=" x ")
    assert one.hash == two.hash != brief(objective="x").hash


@given(st.lists(FILLED, max_size=5), st.lists(FILLED, max_size=5))
def test_a_child_can_only_add_constraints(parents: list[str], own: list[str]) -> None:
    made = brief(constraints=own).inherit([text.strip() for text in parents])
    assert {text.strip() for text in [*parents, *own]} == set(made.constraints)
    assert made.inherit(made.constraints) == made


@given(FILLED)
def test_a_plain_text_becomes_a_brief_and_back(text: str) -> None:
    made = child_brief(text, parent_objective="p" * 500)
    assert made.reason == "part of: " + "p" * 200
    assert render_brief(made) == made.objective == text.strip()


def test_a_text_that_makes_no_brief_is_refused() -> None:
    for text in ("", " \n", "x" * 20_000):
        with pytest.raises(InvalidInputError):
            child_brief(text, parent_objective="p")


@given(st.text(CHARACTERS, min_size=1, max_size=12_000).filter(str.strip) | FILLED.map(lambda text: text * 100))
def test_any_text_has_an_anchor_within_its_bound(text: str) -> None:
    anchor = anchor_of(text)
    assert len(anchor.normalized()) <= ANCHOR_CHARS
    assert anchor.completion_criteria == ["the objective is met"]
    if len(json.dumps(text)) < ANCHOR_CHARS - 500:
        assert anchor.objective == text.strip()


def test_a_long_text_is_excerpted_with_its_size_and_hash() -> None:
    anchor = anchor_of("x" * 10_000)
    assert "[... excerpt of 10000 characters, sha256 " in anchor.objective


def test_a_brief_gives_the_anchor_objective_criteria_and_constraints() -> None:
    anchor = anchor_of(brief(constraints=["k"]))
    assert (anchor.objective, anchor.completion_criteria, anchor.constraints) == ("o", ["c"], ["k"])


def test_an_anchor_comes_back_unchanged_and_makes_a_brief() -> None:
    anchor = RootTaskAnchor(objective="o", completion_criteria=["c"], constraints=["k"])
    assert anchor_of(anchor) is anchor
    made = brief_of(anchor)
    assert (made.objective, made.completion_criteria, made.constraints) == ("o", ["c"], ["k"])


def test_a_rendered_brief_shows_everything_a_solver_needs() -> None:
    text = render_brief(brief(parent_findings=["f"], constraints=["k"], context={"n": 1}))
    for part in ("o", "Done when:\n- c", "Deliver:\n- e", "Known:\n- f", "Constraints:\n- k", '{"n":1}'):
        assert part in text


@given(FILLED)
def test_case_space_and_final_marks_do_not_make_another_task(text: str) -> None:
    spaced = "  " + "\n\t ".join(text.split()) + " . !"
    assert same_task(text) == same_task(spaced)
    assert same_task("Write THE tests") == same_task("write the  tests!?")


def test_other_words_make_another_task() -> None:
    assert same_task("write tests for a") != same_task("write tests for b")


def test_a_sub_task_takes_text_or_brief_and_nothing_unknown() -> None:
    assert SubTask("a", [0]).depends_on == [0]
    assert SubTask(brief()).task == brief()
    with pytest.raises(ValidationError):
        SubTask("a", after=[0])
    with pytest.raises(ValidationError):
        SubTask(5)  # type: ignore[arg-type]  # that it is refused is the test
