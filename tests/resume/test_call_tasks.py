"""Which calls have a LangGraph task of their own, and that a resume finds what was finished either way."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from engine_kit import split
from langgraph_recursive.graph import create_recursive_solver
from langgraph_recursive.nodes.call_tasks import CallTasks
from langgraph_recursive.nodes.components import Part
from langgraph_recursive.nodes.context import invoke
from langgraph_recursive.state.task import Task

CONFIG: RunnableConfig = {"configurable": {"thread_id": "calls"}}

Run = Callable[..., Any]


def _invoke(graph: Any, given: Any) -> Any:
    return graph.invoke(given, CONFIG, durability="sync")


def _ainvoke(graph: Any, given: Any) -> Any:
    return asyncio.run(graph.ainvoke(given, CONFIG, durability="sync"))


@pytest.fixture(params=[_invoke, _ainvoke], ids=["invoke", "ainvoke"])
def run(request: pytest.FixtureRequest) -> Run:
    runner: Run = request.param
    return runner


@pytest.fixture
def all_tasks(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every call has a task, as in the versions before; undo it to go on with this one."""
    monkeypatch.setattr(CallTasks, "spared", lambda tasks, call: tasks._stored is None)
    return monkeypatch


def results_stored(saver: InMemorySaver) -> int:
    """How many results of LangGraph tasks are stored."""
    writes = [write for entry in saver.list(CONFIG) for write in entry.pending_writes or ()]
    return sum(channel == "__return__" for _, channel, _ in writes)


class Work:
    """Two steps of one part, of which the second fails the process once."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.killed = False

    def step(self, name: str) -> str:
        self.done[name] += 1
        return name

    def killing(self, name: str) -> str:
        if not self.killed:
            self.killed = True
            raise KeyboardInterrupt
        return self.step(name)


class TwoCalls(Part):
    """A solver with two durable calls."""

    def __init__(self, work: Work) -> None:
        self.work = work

    async def run(self, task: Task) -> str:
        one = await invoke("one", self.work.step, "one")
        return f"{one} and {await invoke('two', self.work.killing, 'two')}"


def test_a_nodes_only_call_needs_none(run: Run) -> None:
    saver = InMemorySaver()
    graph = create_recursive_solver(solver=lambda: "a", verifiers=[lambda result: result == "a"], checkpointer=saver)
    assert run(graph, "job")["verified"]
    assert results_stored(saver) == 0


def test_the_first_of_two_is_put_on_record(run: Run) -> None:
    saver, work = InMemorySaver(), Work()
    graph = create_recursive_solver(solver=TwoCalls(work), checkpointer=saver)
    with pytest.raises(KeyboardInterrupt):
        run(graph, "job")
    assert results_stored(saver) == 1
    result = run(graph, None)
    assert result["output"] == "one and two"
    assert work.done == {"one": 1, "two": 1}
    assert result["usage"].calls == 2


class Asking:
    """A solver that asks a person, in each of two children."""

    def __init__(self) -> None:
        self.answered: Counter[str] = Counter()

    def solve(self, task: Task) -> str:
        name = task.brief.objective
        answer = interrupt(name)
        self.answered[name] += 1
        return f"{name}{answer}"

    def graph(self) -> Any:
        return create_recursive_solver(
            solver=self.solve,
            decomposer=split({"job": ["a", "b"]}),
            aggregator=lambda results: " ".join(results),
            checkpointer=InMemorySaver(),
        )


def answer_all(run: Run, graph: Any, asked: Any) -> Any:
    return run(graph, Command(resume={ask.id: number for number, ask in enumerate(asked, 1)}))


def test_questions_of_calls_without_a_task_are_answered_by_id(run: Run) -> None:
    asking = Asking()
    graph = asking.graph()
    asked = run(graph, "job")["__interrupt__"]
    assert sorted(ask.value for ask in asked) == ["a", "b"]
    assert sorted(answer_all(run, graph, asked)["output"].split()) in (["a1", "b2"], ["a2", "b1"])
    assert asking.answered == {"a": 1, "b": 1}


def test_questions_that_an_earlier_version_asked_are_answered_by_id(run: Run, all_tasks: pytest.MonkeyPatch) -> None:
    asking = Asking()
    graph = asking.graph()
    asked = run(graph, "job")["__interrupt__"]
    all_tasks.undo()
    assert sorted(answer_all(run, graph, asked)["output"].split()) in (["a1", "b2"], ["a2", "b1"])
    assert asking.answered == {"a": 1, "b": 1}


def test_a_call_that_an_earlier_version_finished_is_found(run: Run, all_tasks: pytest.MonkeyPatch) -> None:
    saver, work = InMemorySaver(), Work()
    graph = create_recursive_solver(solver=TwoCalls(work), checkpointer=saver)
    with pytest.raises(KeyboardInterrupt):
        run(graph, "job")
    all_tasks.undo()
    assert run(graph, None)["output"] == "one and two"
    assert work.done == {"one": 1, "two": 1}


class Inner(TypedDict, total=False):
    text: str


def nested(work: Work) -> Any:
    """A user's graph of two nodes, of which the second fails the process once."""
    graph = StateGraph(Inner)
    graph.add_node("first", lambda state: {"text": work.step("one")})
    graph.add_node("second", lambda state: {"text": f"{state['text']} and {work.killing('two')}"})
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    return graph.compile()


@pytest.mark.parametrize("earlier", [False, True], ids=["this version", "an earlier version"])
def test_a_graph_in_a_call_goes_on_where_it_was(run: Run, monkeypatch: pytest.MonkeyPatch, earlier: bool) -> None:
    work = Work()
    inner = nested(work)
    graph = create_recursive_solver(solver=lambda task: inner.invoke({})["text"], checkpointer=InMemorySaver())
    if earlier:
        monkeypatch.setattr(CallTasks, "spared", lambda tasks, call: tasks._stored is None)
    with pytest.raises(KeyboardInterrupt):
        run(graph, "job")
    monkeypatch.undo()
    assert run(graph, None)["output"] == "one and two"
    assert work.done == {"one": 1, "two": 1}
