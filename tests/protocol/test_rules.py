"""RULES.md names, for each rule of the protocol, code and a test that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = re.findall(r"^\| (\d+\.\d+) \| .* \| (.*?) \| (.*?) \|$", Path(__file__).with_name("RULES.md").read_text(), re.M)
_CODE = re.compile(r"`((?:state|nodes|graph)/[\w/]+\.py):(\w+)`")
_TEST = re.compile(r"`([\w/]+\.py)(?:::(\w+))?`")


def test_every_row_is_read() -> None:
    assert len(ROWS) > 100
    assert len({number for number, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("number", "code", "test"), ROWS, ids=[row[0] for row in ROWS])
def test_code_and_test_exist(number: str, code: str, test: str) -> None:
    if not code.startswith("no code"):
        [(file, name)] = _CODE.findall(code)
        text = (TESTS.parent / file).read_text()
        assert re.search(rf"^\s*(?:async )?(?:def|class) {name}\b|^{name}\b", text, re.M), f"{file} has no {name}"
    if test != "no test":
        [(file, name)] = _TEST.findall(test)
        assert re.search(rf"def {name}\b" if name else "def test_", (TESTS / file).read_text()), f"{file} has no {name}"
