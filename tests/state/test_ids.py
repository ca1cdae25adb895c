"""Ids: linear, unique per attempt, safe as a path and as a git ref (rule 16)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.ids import check_root_id, child_id, fix_id, is_under, root_ref

ROOTS = st.from_regex(r"[A-Za-z0-9-]{1,40}", fullmatch=True)
STEPS = st.lists(st.tuples(st.sampled_from(["child", "fix"]), st.integers(1, 200)), max_size=8)


def walk(root: str, steps: list[tuple[str, int]]) -> str:
    task_id = root
    for kind, number in steps:
        task_id = child_id(task_id, number) if kind == "child" else fix_id(root_ref(task_id), number)
    return task_id


def test_the_documents_examples() -> None:
    assert child_id("t", 2) == "t.2"
    assert fix_id("t.2", 1) == "t.2_fix_1"
    assert child_id(fix_id("t.2", 1), 1) == "t.2_fix_1.1"
    assert root_ref("t.2_fix_3") == "t.2"
    assert root_ref("t.2_fix_1.1") == "t.2_fix_1.1"


@given(ROOTS, STEPS, st.lists(st.integers(1, 99), min_size=1, max_size=6))
def test_a_chain_of_fixes_never_nests(root: str, steps: list[tuple[str, int]], numbers: list[int]) -> None:
    first = root_ref(walk(root, steps))
    current = first
    for number in numbers:
        current = fix_id(root_ref(current), number)
    assert current == f"{first}_fix_{numbers[-1]}"


@given(ROOTS, STEPS)
def test_an_id_is_safe_as_a_path_and_as_a_git_ref(root: str, steps: list[tuple[str, int]]) -> None:
    task_id = walk(root, steps)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", task_id)
    assert ".." not in task_id
    assert not task_id.startswith(".")
    assert not task_id.endswith((".", ".lock", "/"))


@given(ROOTS, STEPS, STEPS)
def test_what_hangs_below_a_task_is_under_it_and_siblings_are_not(
    root: str, above: list[tuple[str, int]], below: list[tuple[str, int]]
) -> None:
    top = root_ref(walk(root, above))
    assert is_under(walk(child_id(top, 1), below), top)
    assert is_under(child_id(fix_id(top, 2), 3), top)
    assert not is_under(walk(child_id(top, 12), below), child_id(top, 1))
    assert not is_under(top, child_id(top, 1))


@pytest.mark.parametrize("bad", ["", "a b", "a/b", "a.b", "a_fix_1", "\u00e4", "a\n", "a" * 41, None, 7, b"t"])
def test_a_bad_root_id_is_refused_with_the_rule(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="1 to 40 letters, digits and hyphens") as caught:
        check_root_id(bad)
    assert caught.value.field == "id"


@given(ROOTS)
def test_a_good_root_id_comes_back_unchanged(root: str) -> None:
    assert check_root_id(root) == root
