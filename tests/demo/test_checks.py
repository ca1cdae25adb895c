"""The validators: what they refuse, and that they say why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_recursive.graph.demo import read_messages
from langgraph_recursive.graph.demo.checks import CHECKS, check_customer, check_item, check_quantity
from langgraph_recursive.graph.demo.order import Order
from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.brief import anchor_of, brief_of
from langgraph_recursive.state.report import answer_report
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import Verdict

Check = Callable[[Task, Answer], Verdict]


def task_of(message: str) -> Task:
    spec = f"Read the order in message 1 of 1.\n\n{message}"
    brief = brief_of("read the order")
    return Task(id="t.1", spec=spec, brief=brief, anchor=anchor_of("read the order"), depth=1)


def verdict(check: Check, message: str, quantity: int, item: str, customer: str) -> Verdict:
    return check(task_of(message), Answer(answer_report(Order(quantity, item, customer).dump())))


def test_the_right_orders_of_the_demo_pass(orders: list[tuple[int, str, str] | None]) -> None:
    for message, order in zip(read_messages(), orders, strict=True):
        if order is not None:
            assert [verdict(check, message, *order).feedback for check in CHECKS[:3]] == ["", "", ""], message


@pytest.mark.parametrize("quantity", range(4))
def test_no_quantity_passes_where_there_is_none(quantity: int) -> None:
    assert not verdict(check_quantity, "The usual cakes to Jo", quantity, "cakes", "Jo").accepted


LAMPS = "Hi Tom, not 5 but 3 oil lamps on 2 May to 9 Elm Road. Call 555 0143. Yours, Ann Lee"


@pytest.mark.parametrize(
    ("check", "field", "value", "said"),
    [
        (check_quantity, "quantity", 4, "does not stand in the message"),
        (check_quantity, "quantity", 5, "taken back"),
        (check_quantity, "quantity", 2, "part of a date"),
        (check_quantity, "quantity", 9, "part of an address"),
        (check_quantity, "quantity", 555, "phone"),
        (check_item, "item", "tables", "does not stand in the message"),
        (check_item, "item", "lamps", "only part of a longer name"),
        (check_item, "item", "3 oil lamps", "holds a number"),
        (check_item, "item", "oil lamps on", "not part of the thing"),
        (check_item, "item", "Ann Lee", "is the customer"),
        (check_item, "item", "Elm Road", "no thing that can be ordered"),
        (check_customer, "customer", "Bob", "does not stand in the message"),
        (check_customer, "customer", "Ann", "only part of a name"),
        (check_customer, "customer", "Tom", "who the message is written to"),
        (check_customer, "customer", "Yours", "not part of a name"),
        (check_customer, "customer", "May", "a date"),
        (check_customer, "customer", "oil lamps", "is the item"),
    ],
)
def test_a_wrong_value_is_refused_with_its_reason(check: Check, field: str, value: Any, said: str) -> None:
    right: dict[str, Any] = {"quantity": 3, "item": "oil lamps", "customer": "Ann Lee"}
    assert verdict(check, LAMPS, **right).accepted
    found = verdict(check, LAMPS, **{**right, field: value})
    assert said in found.feedback
    assert next((e.label, e.text) for e in found.checks[0].evidence) == (field, str(value))


def test_a_thing_taken_back_is_refused() -> None:
    message = "Cancel the 4 lamps and send 2 mats to Jo Bell"
    assert "taken back" in verdict(check_item, message, 2, "lamps", "Jo Bell").feedback
    assert verdict(check_item, message, 2, "mats", "Jo Bell").accepted


def test_a_number_of_something_else_is_refused() -> None:
    found = verdict(check_quantity, "For our 9 kids we need 4 mats. Jo Bell", 9, "mats", "Jo Bell")
    assert "another number does" in found.feedback


def test_a_message_with_two_orders_is_not_verified_and_no_value_is_blamed() -> None:
    found = verdict(check_quantity, "3 lamps and 2 chairs for Bob", 3, "lamps", "Bob")
    assert "not the only number of things" in found.feedback
    assert found.checks[0].evidence == []


def test_words_that_belong_to_no_thing_are_named() -> None:
    found = verdict(check_item, LAMPS, 3, "oil lamps on", "Ann Lee")
    assert ("item without", "on") in [(e.label, e.text) for e in found.checks[0].evidence]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "null",
        "[]",
        "4 lamps for Jo",
        '{"quantity": 4}',
        '{"quantity": "4", "item": "x", "customer": "y"}',
        '{"quantity": true, "item": "x", "customer": "y"}',
        '{"quantity": 4, "item": null, "customer": "y"}',
        "[" * 9999,
    ],
)
def test_what_is_no_order_is_refused(answer: str) -> None:
    for check in CHECKS[:3]:
        found = check(task_of("4 lamps for Jo"), Answer(answer_report(answer)))
        assert found.outcome == "failed"


@given(st.text(max_size=80), st.integers(), st.text(max_size=20), st.text(max_size=20))
def test_checks_judge_any_text(message: str, quantity: int, item: str, customer: str) -> None:
    for check in CHECKS:
        assert verdict(check, message, quantity, item, customer).outcome in ("passed", "failed")


@given(st.data())
def test_checks_judge_any_words_of_the_message(data: st.DataObject) -> None:
    message = data.draw(st.text("ab C4.,'-\n", min_size=1, max_size=40))
    piece = st.builds(lambda start, size: message[start : start + size], st.integers(0, 39), st.integers(0, 9))
    for check in CHECKS:
        assert verdict(check, message, 4, data.draw(piece), data.draw(piece)).outcome in ("passed", "failed")


@given(st.text())
def test_checks_judge_any_answer(answer: str) -> None:
    for check in CHECKS[:3]:
        assert check(task_of("4 lamps for Jo"), Answer(answer_report(answer))).outcome in ("passed", "failed")
