"""A user's mistake is one clear line on stderr, exit code 2, and no traceback."""

from pathlib import Path

import pytest

from command_line import graph

pytest.importorskip("typer")

from langgraph_recursive.graph.cli.entry import run_app

CASES = {
    "no task": (["solve"], "exactly one"),
    "two tasks": (["solve", "x", "--file", "y"], "exactly one"),
    "empty task": (["solve", "  "], "empty"),
    "no such file": (["solve", "--file", "{tmp}/none"], "No such file"),
    "a folder": (["solve", "--file", "{tmp}"], "directory"),
    "not text": (["solve", "--file", "{tmp}/bytes"], "UTF-8"),
    "unknown option": (["solve", "x", "--colour", "red"], "--colour"),
    "unknown command": (["sing"], "sing"),
    "not a number": (["solve", "x", "--max-depth", "deep"], "--max-depth"),
    "out of bounds": (["solve", "x", "--max-attempts", "0"], "--max-attempts"),
    "unbalanced quotes": (["solve", "x", "--verify-with", "pytest 'q"], "--verify-with"),
    "no such command": (["solve", "x", "--verify-with", "no-such-command -q"], "no-such-command"),
    "empty command": (["solve", "x", "--verify-with", " "], "--verify-with"),
    "no such folder": (["solve", "x", "--verify-with", "true", "--cwd", "{tmp}/none"], "--cwd"),
    "unknown provider": (["solve", "x", "--model", "nobody:nothing"], "nobody"),
    "missing provider package": (["solve", "x", "--model", "mistralai:small"], "langchain-mistralai"),
    "graph without a name": (["solve", "x", "--graph", "job.py"], "FILE.py:NAME"),
    "graph of no file": (["solve", "x", "--graph", "{tmp}/none.py:make"], "no file"),
    "graph with an error": (["solve", "x", "--graph", "{tmp}/wrong.py:make"], "wrong.py:1"),
    "graph of no such name": (["solve", "x", *graph("nothing")], "no 'nothing'"),
    "graph that is no solver": (["solve", "x", *graph("not_a_solver")], "int"),
    "graph that raises": (["solve", "x", *graph("broken")], "no luck"),
    "graph of no module": (["solve", "x", "--graph", "no.such.module:make"], "no.such"),
    "graph and model": (["solve", "x", *graph("checked"), "--model", "a:b"], "--graph"),
    "folder that cannot be made": (["solve", "x", *graph("unchecked"), "--db", "{tmp}/bytes/runs.db"], "--db"),
    "not a database": (["solve", "x", *graph("unchecked"), "--db", "{tmp}/bytes"], "not a database"),
    "resume without runs": (["resume", "one", "--db", "{tmp}/none.db"], "no runs yet"),
    "resume an unknown thread": (["resume", "two", "--db", "{tmp}/runs.db"], "'two'"),
    "resume a finished thread": (["resume", "one", "--db", "{tmp}/runs.db"], "langgraph-recursive show one"),
    "answer what is not asked": (["resume", "one", "--answer", "x", "--db", "{tmp}/runs.db"], "asks nothing"),
    "show an unknown thread": (["show", "two", "--db", "{tmp}/runs.db"], "'two'"),
    "a name with escape codes": (["show", "\x1b[31m", "--db", "{tmp}/runs.db"], r"\x1b"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    (made / "bytes").write_bytes(b"\xff\xfe\x00no text, and no database either" * 100)
    (made / "wrong.py").write_text("1 / 0\n")
    run_app(["solve", "x", *graph("unchecked"), "--thread", "one", "--db", str(made / "runs.db"), "-q"])
    return made


@pytest.mark.parametrize(("arguments", "told"), CASES.values(), ids=CASES)
def test_a_mistake_is_one_line(
    arguments: list[str],
    told: str,
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    code = run_app([argument.format(tmp=folder) for argument in arguments])
    out, err = capfd.readouterr()
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert told in err
    assert "\x1b" not in err
    assert "Traceback" not in err


def test_a_missing_key_is_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_key(name: str) -> None:
        raise RuntimeError("Missing credentials.\nSet OPENAI_API_KEY")

    monkeypatch.setattr("langchain.chat_models.init_chat_model", without_key)
    assert run_app(["solve", "x", "--model", "openai:gpt", "--db", str(folder / "new.db")]) == 2
    assert (
        capfd.readouterr().err == "langgraph-recursive: --model openai:gpt: Missing credentials. Set OPENAI_API_KEY\n"
    )
    assert not (folder / "new.db").exists()


def test_no_command_prints_the_help_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_app([]) == 2
    printed = capfd.readouterr()
    assert "Usage: langgraph-recursive" in printed.out + printed.err
    assert "langgraph-recursive:" not in printed.err
