"""OpenTelemetry: the spans that OpenInference's instrumentation of LangChain makes of a run, kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from engine_kit import split
from langgraph_recursive.graph import create_recursive_solver
from langgraph_recursive.nodes import reject
from scripted import ScriptedChatModel

Run = Callable[..., Any]

CONFIG: RunnableConfig = {"configurable": {"thread_id": "1"}}
ROOT = "/recursive_solver"
NODES = ("admit", "decompose", "subtasks", "review", "aggregate", "verify")


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> Iterator[TracerProvider]:
    """Instruments LangChain for one test."""
    before = BaseCallbackManager.__init__
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    LangChainInstrumentor().instrument(tracer_provider=provider)
    yield provider
    LangChainInstrumentor().uninstrument()
    assert BaseCallbackManager.__init__ is before


def tree(**parts: Any) -> Any:
    """t with the children t.1 (with t.1.1 and t.1.2) and t.2."""
    given = {
        "decomposer": split({"w": ["a", "b"], "a": ["c", "d"]}),
        "solver": ScriptedChatModel(answers=lambda messages: "x", usage=(3, 4)),
        "aggregator": lambda results: "+".join(results),
    }
    return create_recursive_solver(**{**given, **parts})


def paths(spans: Sequence[ReadableSpan]) -> dict[str, ReadableSpan]:
    """Each span by the names on its way from the root. A parent that is not there is a KeyError."""
    known = {span.context.span_id: span for span in spans}

    def path(span: ReadableSpan) -> str:
        return (path(known[span.parent.span_id]) if span.parent else "") + "/" + span.name

    return {path(span): span for span in spans}


@pytest.mark.parametrize("durable", [False, True])
def test_spans_nest_by_node_and_task(
    run: Run, provider: TracerProvider, exporter: InMemorySpanExporter, durable: bool
) -> None:
    run(tree(checkpointer=InMemorySaver() if durable else None), "w", CONFIG)
    spans = exporter.get_finished_spans()
    found = paths(spans)
    assert {f"{ROOT}/{node}" for node in NODES} <= set(found)
    assert {path for path in found if path.endswith("/ScriptedChatModel")} == {
        f"{ROOT}/subtasks/t.1/t.1/subtasks/t.1.1/t.1.1/solve/ScriptedChatModel",
        f"{ROOT}/subtasks/t.1/t.1/subtasks/t.1.2/t.1.2/solve/ScriptedChatModel",
        f"{ROOT}/subtasks/t.2/t.2/solve/ScriptedChatModel",
    }
    assert [path for path in found if path.count("/") == 1] == [ROOT]
    assert len({span.context.trace_id for span in spans}) == 1
    assert len(found) == len(spans)


def test_model_spans_say_what_the_calls_cost(
    run: Run, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    usage = run(tree(), "w")["usage"]
    counts = [span.attributes or {} for span in exporter.get_finished_spans() if span.name == "ScriptedChatModel"]
    assert [(count["llm.token_count.prompt"], count["llm.token_count.completion"]) for count in counts] == [(3, 4)] * 3
    assert (usage.input_tokens, usage.output_tokens) == (9, 12)


def test_a_call_that_failed_is_marked_and_the_run_is_not(
    run: Run, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    result = run(create_recursive_solver(solver=ScriptedChatModel(answers=[RuntimeError("no key")])), "w")
    assert result["halt"].type == "task_failed"
    marks = {span.name: span.status.is_ok for span in exporter.get_finished_spans()}
    assert (marks["ScriptedChatModel"], marks["recursive_solver"]) == (False, True)


def test_each_attempt_has_its_spans(run: Run, provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    solver = create_recursive_solver(
        solver=lambda task: str(task.attempt), verifiers=[lambda attempt: attempt == 2 or reject(f"not {attempt}")]
    )
    once = ["admit", "solve", "verify"]
    assert run(solver, "w")["success"]
    names = [span.name for span in sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)]
    assert names == ["recursive_solver", *once, "recovery", *once]


def test_a_run_is_part_of_the_trace_that_it_is_made_in(
    run: Run, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    tracer = provider.get_tracer("mine")

    def solve(task: Any) -> str:
        with tracer.start_as_current_span("look up"):
            return "x"

    with tracer.start_as_current_span("request"):
        run(tree(solver=solve), "w")
    spans = exporter.get_finished_spans()
    assert f"/request{ROOT}/subtasks/t.2/t.2/solve" in paths(spans)
    assert sum(span.name == "look up" for span in spans) == 3
    assert len({span.context.trace_id for span in spans}) == 1


def test_after_it_nothing_is_left(run: Run, provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    LangChainInstrumentor().uninstrument()
    run(tree(), "w")
    assert exporter.get_finished_spans() == ()
    LangChainInstrumentor().instrument(tracer_provider=provider)
    run(tree(), "w")
    assert exporter.get_finished_spans() != ()
