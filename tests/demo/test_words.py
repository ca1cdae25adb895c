"""Numbers and words of a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_recursive.graph.demo.words import numbers, places, spans, words


def counting(message: str) -> list[int]:
    return [number.value for number in numbers(message) if number.counts]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("7 lamps", [7]),
        ("twenty-five lamps and one mat", [25, 1]),
        ("Twenty five lamps", [25]),
        ("a dozen eggs", [12]),
        ("two dozen eggs", [24]),
        ("half a dozen eggs", [6]),
        ("1,200 screws", [1200]),
        ("two hundred nails", [200]),
        ("I want a lamp", [1]),
        ("someone likes phones", []),
        ("0 lamps", []),
        ("9999999999999999999999 lamps", []),
    ],
)
def test_numbers_are_read_as_digits_and_in_words(message: str, expected: list[int]) -> None:
    assert counting(message) == expected


@pytest.mark.parametrize(
    "message",
    [
        "on 14 March",
        "March 14",
        "on 3 of June",
        "on the 5th",
        "by 5/6",
        "on Friday 8",
        "at 9 am",
        "11 o'clock",
        "10:30",
        "at 8",
        "call 612 8844",
        "my phone is 5501234",
        "0161 4990",
        "+44 7700",
        "$5",
        "20 dollars",
        "7 Park Lane",
        "22 Old Lake Street",
        "room 204",
        "Flat 6",
        "order #77",
        "my order 9",
        "about order 118",
        "Invoice 230",
        "ticket no. 52",
        "in 3 weeks",
    ],
)
def test_what_is_no_count_of_things_is_told(message: str) -> None:
    assert counting(message) == []
    assert all(number.role for number in numbers(message))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Not 5 but 3 lamps", [3]),
        ("instead of 10 send 14", [14]),
        ("Cancel the 4 lamps and send 2 mats", [2]),
        ("I said 20 forks, but I only need 12 forks.", [12]),
        ("change it from 8 to 10", [10]),
        ("It was 7, now make it 9", [9]),
        ("I no longer need 3 ovens, just 1", [1]),
        ("If it is not too much trouble, 6 mats", [6]),
        ("I want to order 12 mugs", [12]),
        ("Anna from the school needs 50 pencils", [50]),
        ("7 mats, but not before 3 May", [7]),
    ],
)
def test_what_is_taken_back_does_not_count(message: str, expected: list[int]) -> None:
    assert counting(message) == expected


def test_spans_stop_at_punctuation_and_digits() -> None:
    assert spans("Send 4 oil lamps. Jo") == ("Send", "oil", "oil lamps", "lamps", "Jo")


def test_places_are_whole_words_in_any_case() -> None:
    assert places("Lamps, lamp, oil  lamp", "lamp") == [(7, 11), (18, 22)]
    assert places("Lamps, lamp, oil  lamp", "Oil lamp") == [(13, 22)]
    assert places("anything", "  ") == []


@given(st.text(max_size=120))
def test_every_span_has_a_place(message: str) -> None:
    for span in spans(message):
        assert places(message, span)


@given(st.text(max_size=120) | st.text("0123456789 ,.-/ab", max_size=60))
def test_any_text_can_be_read(message: str) -> None:
    for number in numbers(message):
        assert 0 <= number.start < number.end <= len(message)
    assert all(message[word.start : word.end] == word.text for word in words(message))
