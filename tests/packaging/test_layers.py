"""Imports run only state <- nodes <- graph: absolute from room to room, relative within a room."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "langgraph_recursive"
REACHES = {"state": {"state"}, "nodes": {"state", "nodes"}, "graph": {"state", "nodes", "graph"}}
# State is data and rules on data; only its channels need to know the framework they live in.
STATE_LIBRARIES = {"pydantic", "typing_extensions", *sys.stdlib_module_names}
CHANNELS = "state/channels.py"
CHANNEL_LIBRARIES = STATE_LIBRARIES | {"langgraph", "langchain_core"}

FILES = sorted(path.relative_to(ROOT) for room in REACHES for path in (ROOT / room).rglob("*.py"))


def imports(file: Path, source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield line, module (absolute) and whether it was written as relative, for each import in `source`."""
    package = [PACKAGE, *file.parent.parts]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from langgraph_recursive import state` names the room only after the `import`.
            bare = module in {"", PACKAGE}
            names = [f"{module}.{alias.name}" for alias in node.names] if bare else [module]
            yield from ((node.lineno, name, node.level > 0) for name in names)


def broken_rules(file: Path, source: str) -> list[str]:
    room = file.parts[0]
    libraries = CHANNEL_LIBRARIES if file.as_posix() == CHANNELS else STATE_LIBRARIES
    found = []
    for line, module, relative in imports(file, source):
        top, _, rest = module.partition(".")
        target = rest.partition(".")[0]
        if top != PACKAGE:
            if top in REACHES or relative:
                found.append(f"{file}:{line}: {module} is not a module's full name")
            elif room == "state" and top not in libraries:
                found.append(f"{file}:{line}: state does not use {top}")
        elif target not in REACHES[room]:
            found.append(f"{file}:{line}: {room} does not import {module}")
        elif relative != (target == room):
            found.append(f"{file}:{line}: {module} is {'another' if relative else 'the same'} room")
    return found


@pytest.mark.parametrize("file", FILES, ids=str)
def test_file_keeps_to_its_layer(file: Path) -> None:
    assert broken_rules(file, (ROOT / file).read_text()) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("state/task.py", "from langgraph_recursive.nodes import solve"),
        ("state/task.py", "from langgraph_recursive import graph"),
        ("state/task.py", "def late():\n    import langgraph_recursive.graph.builder"),
        ("state/task.py", "import langchain_core.messages"),
        ("state/task.py", "from langgraph_recursive.state.ids import child_id"),
        ("state/task.py", "from ..nodes import solve"),
        ("state/task.py", "from ...state import ids"),
        ("state/channels.py", "import rich"),
        ("nodes/parts/llm.py", "from langgraph_recursive.graph import policy"),
        ("nodes/parts/llm.py", "from ...state import task"),
        ("nodes/parts/llm.py", "from langgraph_recursive.nodes import _calls"),
        ("nodes/solve.py", "from state.task import Task"),
        ("graph/builder.py", "import nodes"),
        ("graph/builder.py", "import langgraph_recursive.graph.policy"),
    ],
)
def test_broken_rule_is_found(file: str, source: str) -> None:
    assert len(broken_rules(Path(file), source)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("state/task.py", "import re, pydantic\nfrom .ids import child_id\nfrom . import verdict"),
        ("state/channels.py", "from langgraph.channels import EphemeralValue"),
        ("nodes/parts/llm.py", "from langgraph_recursive.state.task import Task\nfrom .. import solve"),
        (
            "graph/cli/__init__.py",
            "import rich\nfrom langgraph_recursive import nodes\nfrom ..builder import build",
        ),
    ],
)
def test_allowed_import_is_allowed(file: str, source: str) -> None:
    assert broken_rules(Path(file), source) == []
