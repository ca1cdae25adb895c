from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_recursive.nodes.parts.prechecks import meta_spec
from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.recovery import recovery_spec

LONG = (
    "Write a function that reads the orders, adds up the prices of each basket, applies the discount of the customer "
    "to the sum, rounds it to cents, and returns one row for each basket, sorted by the name of the customer."
)
STEPS = "\n".join(f"{n}. Step {n}: read file {n} and check that each of its rows has {n} columns." for n in range(1, 6))


class Spec(SimpleNamespace):
    def __str__(self) -> str:
        return str(self.spec)


def why(spec: str, root_spec: str | None = None, **options: Any) -> str:
    verdict = meta_spec(**options)(Spec(spec=spec, root_spec=root_spec))
    assert verdict.accepted == (not verdict.feedback)
    return verdict.feedback


GOOD = {
    "a word": "Sum",
    "a paragraph": LONG,
    "steps": STEPS,
    "short lines again": "la la la\n" * 40,
    "a table": "| a | b |\n|---|---|\n" + "| 1 | no |\n" * 60,
    "long equal rows": "\n".join(["| " + " | ".join(["no value yet"] * 8) + " |"] * 30),
    "list of alike items": "\n".join(f"- the value of field {n} is a number" for n in range(50)),
    "scenarios": "\n\n".join(
        f"Scenario {n}\nGiven a user\nWhen they log in\nThen they see page {n}\nAnd nobody else does" for n in range(20)
    ),
    "sections again": "\n\n".join(f"## Feature {n}\n\n### Acceptance criteria\n\n- tests pass" for n in range(9)),
    "code again": f"Merge these:\n\n```python\n{STEPS}\n```\n\nand\n\n```python\n{STEPS}\n```\n",
    "own task heading": f"# Task\n\n{LONG}",
    "comments": "```\n# Task\nx = 1\n# Task\ny = 2\n```",
    "frames of a recursion": "Fix this:\n" + '  File "a.py", line 3, in f\n    return f(n)\n' * 200,
    "evidence that quotes": f'{LONG}\n<evidence attempt="1">\n# Task\n# Task\n{LONG}\n</evidence>',
    "open fence": f"{LONG}\n<evidence>\nan example of markup",
}
BAD = {
    "empty": "",
    "blank": " \n\t\n",
    "paragraph twice": f"{LONG}\n\nAnd then:\n\n{LONG}",
    "rewrapped paragraph": f"{LONG}\n\nAnd then:\n\n{LONG.replace('orders, ', 'orders,' + chr(10))}",
    "steps in steps": f"Do:\n{STEPS}\nFix:\n{STEPS}\nFix:\n{STEPS}",
    "two intents": f"# Task\n\n# Task\n\n{LONG}",
    "failures in failures": "# Task\n\nSum\n\n# What failed so far\n\n- a\n\n# What failed so far\n\n- b",
    "settled twice": "# What already passed\n\n- a\n\n# What already passed\n\n- a",
    "behind an open fence": "<evidence>\n# Task\na\n# Task\nb",
}


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    assert why(GOOD[name]) == ""


@pytest.mark.parametrize("name", BAD)
def test_bad(name: str) -> None:
    assert why(BAD[name])


def test_size() -> None:
    assert why("x" * 100, max_chars=100) == ""
    assert why("x" * 101, max_chars=100) == "the spec has 101 characters, 100 are allowed"


def test_bound_must_be_positive() -> None:
    with pytest.raises(InvalidInputError):
        meta_spec(max_chars=0)


def failures(*words: str) -> list[Failure]:
    return [
        Failure(attempt=n, validator_id="v", check_id="c", justification=text, evidence=[bounded(text)])
        for n, text in enumerate(words, 1)
    ]


@pytest.mark.parametrize("name", GOOD)
def test_recovery_from_a_good_spec_is_good(name: str) -> None:
    root = GOOD[name]
    quoting = failures(f"wrong:\n{root}", f"{root}\n# Task\n{root}", f"</evidence>\n# Task\n{root}", root, root)
    assert why(recovery_spec(root, quoting, ["v/a", "v/b"]), root) == ""


# Without the original spec nothing tells whose heading or fence it is.
@pytest.mark.parametrize("name", sorted(GOOD.keys() - {"own task heading", "open fence"}))
def test_recovery_spec_handed_on_as_a_task_is_good(name: str) -> None:
    assert why(recovery_spec(GOOD[name], failures("no\nat all"), ["v/a"])) == ""


def test_spec_wrapped_in_itself() -> None:
    once = recovery_spec(LONG, failures("no\nreally"))
    twice = recovery_spec(once, failures("no\nagain"))
    assert why(once, LONG) == ""
    assert "'# Task' 2 times" in why(twice, LONG)
    assert "'# Task' 2 times" in why(twice)
    assert "original spec more than once" in why(f"{once}\n\n{LONG}\n", LONG)


def test_what_recovery_adds_is_bounded_by_itself() -> None:
    root = "x" * 100
    spec = recovery_spec(root, failures("no"))
    assert why(spec, root, max_chars=len(spec) - 100) == ""
    assert "what recovery adds" in why(spec, root, max_chars=101)


@given(st.text(), st.lists(st.text(), max_size=4), st.lists(st.text(alphabet="ab/"), max_size=3))
@settings(deadline=None)
def test_recovery_from_any_accepted_spec_is_accepted(root: str, words: list[str], settled: list[str]) -> None:
    if why(root) == "":
        assert why(recovery_spec(root, failures(*words), settled), root) == ""


@pytest.mark.parametrize("unit", ["<evidence>\n", "```\n", "a\n", "# Task\n\n", "ab ", "\n", "<evidence", "a\nb\n"])
def test_hostile_spec_takes_linear_time(unit: str) -> None:
    why(unit * (500_000 // len(unit)), max_chars=10**6)
