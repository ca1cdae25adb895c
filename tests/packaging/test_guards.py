"""A room has one name: under its bare one there would be a second class of each, foreign to `isinstance`."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("state", "nodes", "graph")
EXTRAS = (
    "aiosqlite",
    "langchain",
    "langgraph.checkpoint.postgres",
    "langgraph.checkpoint.sqlite",
    "psycopg",
    "rich",
    "typer",
    "xllamacpp",
)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a Python started in the repository's root, where the rooms can be seen."""
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONSAFEPATH"}}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("room", ROOMS)
def test_room_refuses_its_bare_name(room: str) -> None:
    done = run_python(f"import {room}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ImportError: import this room as langgraph_recursive.{room}"


@pytest.mark.parametrize("room", ROOMS)
def test_room_imports_under_its_full_name(room: str) -> None:
    module = importlib.import_module(f"langgraph_recursive.{room}")
    assert Path(str(module.__file__)) == ROOT / room / "__init__.py"
    assert (ROOT / room / "py.typed").is_file()


def test_rooms_import_without_any_extra() -> None:
    hide = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r}))"  # None there makes an import fail
    done = run_python(f"{hide}\nfrom langgraph_recursive import graph, nodes, state")
    assert done.returncode == 0, done.stderr


def test_open_sqlite_without_its_extra_names_it() -> None:
    done = run_python(
        "import sys; sys.modules['langgraph.checkpoint.sqlite'] = None; "
        "from langgraph_recursive.graph import open_sqlite"
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith('open_sqlite needs: pip install "langgraph-recursive[sqlite]"')
