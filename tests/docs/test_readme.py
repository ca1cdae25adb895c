"""The README's programs run as they stand, and print what it says they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from scripted import ScriptedChatModel

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def answer(messages: list[BaseMessage]) -> str:
    """A model for the program that names a real one: it never splits, and accepts what it is asked to judge."""
    text = "\n".join(str(message.content) for message in messages)
    if "complete answer" in messages[-1].text:
        return "DONE"
    if "ACCEPT" in text:
        return "ACCEPT good"
    return "yes" if "atomic" in text.lower() else "Gas 900 EUR, wood 700 EUR, heat pump 500 EUR"


def promised(code: str) -> list[str]:
    """The output that comments at the left edge promise."""
    return [line[2:] for line in code.splitlines() if line.startswith("# ")]


@pytest.mark.parametrize("code", BLOCKS, ids=[f"program-{number}" for number in range(1, len(BLOCKS) + 1)])
def test_program_runs_and_prints_what_it_promises(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "langchain.chat_models.init_chat_model", lambda name: ScriptedChatModel(answers=answer, tools=True)
    )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(README), "exec"), {"__name__": "readme"})
    for line in promised(code):
        assert line in printed.getvalue()


def test_first_program_is_short_and_whole() -> None:
    assert len(BLOCKS[0].strip().splitlines()) <= 20
    assert len(BLOCKS) >= 4


def test_first_program_prints_an_accepted_and_verified_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: ScriptedChatModel(answers=answer))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(BLOCKS[0], {"__name__": "readme"})
    assert printed.getvalue() == "Gas 900 EUR, wood 700 EUR, heat pump 500 EUR True 1\n"
