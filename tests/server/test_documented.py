"""The repository's own langgraph.json, with its ready graph made of settings, and the README's."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from dev_server import DevServer

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "README.md").read_text().split("### langgraph dev\n")[1].split("\n## ")[0]
NO_MODEL = (
    "no model is named: set LANGGRAPH_RECURSIVE_MODEL where the server is started, or `model` in the context of the "
    "run, to a name such as 'anthropic:claude-sonnet-4-5', or to 'embedded' for a try"
)


def block(kind: str) -> str:
    """The README's only block of a kind."""
    (found,) = re.findall(rf"```{kind}\n(.*?)```", SECTION, re.DOTALL)
    return str(found)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    folder = tmp_path_factory.mktemp("documented")
    config = json.loads((ROOT / "langgraph.json").read_text())
    config["graphs"].update(json.loads(block("json"))["graphs"])
    (folder / "langgraph.json").write_text(json.dumps(config))
    (folder / "agent.py").write_text(block("python"))
    running = DevServer(folder, folder / "langgraph.json", {"LANGGRAPH_RECURSIVE_MAX_DEPTH": "0"})
    running.start()
    yield running
    running.kill()


def test_the_readmes_client_prints_what_it_promises(server: DevServer) -> None:
    program = block("py").replace("http://127.0.0.1:2024", server.url)
    done = subprocess.run([sys.executable, "-c", program], env=server.env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [line[2:] for line in program.splitlines() if line.startswith("# ")]


async def test_it_starts_and_shows_itself_without_a_model(client: LangGraphClient, thread: str) -> None:
    (assistant,) = await client.assistants.search(graph_id="recursive_solver")
    assert assistant["name"] == "recursive_solver"
    schemas: Any = await client.assistants.get_schemas(assistant["assistant_id"])
    assert "task" in schemas["input_schema"]["properties"]
    assert {"model", "verify", "max_depth"} <= schemas["context_schema"]["properties"].keys()
    assert (await client.threads.get_state(thread))["next"] == []


async def test_a_wrong_setting_is_told_before_anything_runs(client: LangGraphClient) -> None:
    told: dict[str, tuple[str, dict[str, Any]]] = {
        NO_MODEL: ("MissingSolverError", {}),
        "SolvePolicy.max_attempts = 0: Input should be greater than or equal to 1": (
            "InvalidPolicyError",
            {"context": {"model": "embedded", "max_attempts": 0}},
        ),
        "configurable.verify = 'perhaps': Input should be a valid boolean, unable to interpret input": (
            "InvalidInputError",
            {"config": {"configurable": {"verify": "perhaps"}}},
        ),
    }

    async def last(way: dict[str, Any]) -> Any:
        stream = client.runs.stream(None, "recursive_solver", input={"task": "a"}, **way)
        return [chunk async for chunk in stream][-1]

    chunks = await asyncio.gather(*[last(way) for _, way in told.values()])
    assert [chunk.event for chunk in chunks] == ["error"] * 3
    assert [chunk.data["error"] for chunk in chunks] == [kind for kind, _ in told.values()]
    assert [chunk.data["message"] for chunk in chunks] == list(told)


@pytest.mark.embedded
async def test_an_assistant_names_its_model(client: LangGraphClient, thread: str) -> None:
    assistant = await client.assistants.create("recursive_solver", context={"model": "embedded"}, name="small")
    task = {"task": "What is the capital of France?"}
    result: Any = await client.runs.wait(thread, assistant["assistant_id"], input=task)
    assert "Paris" in result["output"]
    assert (result["halt"], result["verified"], result["usage"]["tasks"]) == (None, False, 1)
    assert (await client.threads.get_state(thread))["values"]["output"] == result["output"]  # type: ignore[call-overload]
