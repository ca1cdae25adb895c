"""A solver inside a user's graph with another state: everything of the host carries through."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from engine_kit import Solver, kept, split
from langgraph_recursive.graph import create_recursive_solver
from langgraph_recursive.graph.machine import NODES
from langgraph_recursive.nodes import reject
from langgraph_recursive.state.task import Task

Run = Callable[..., Any]

CONFIG: RunnableConfig = {"configurable": {"thread_id": "1"}}


class Order(TypedDict, total=False):
    """The host's own state: it shares no key with the solver's."""

    question: str
    answers: Annotated[list[str], operator.add]


class Shared(TypedDict, total=False):
    """A host's state that shares keys: the solver is a node as it is."""

    task: str
    output: str
    price: int


@dataclass
class Who:
    user_id: str


def tree(**parts: Any) -> Any:
    """t with the children t.1 (with t.1.1 and t.1.2) and t.2."""
    given = {
        "solver": lambda task: f"{task}!",
        "decomposer": split({"w": ["a", "b"], "a": ["c", "d"]}),
        "aggregator": lambda results: "+".join(results),
    }
    return create_recursive_solver(**{**given, **parts})


def calling(solver: Any, way: str, *, times: int = 1, **options: Any) -> Any:
    """A host whose node calls the solver, and translates between the states."""

    def work(state: Order) -> Order:
        return {"answers": [solver.invoke({"task": state["question"]})["output"] for _ in range(times)]}

    async def awork(state: Order) -> Order:
        return {"answers": [(await solver.ainvoke({"task": state["question"]}))["output"] for _ in range(times)]}

    graph = StateGraph(Order, context_schema=Who)
    graph.add_node("before", lambda state: {"answers": ["start"]})
    graph.add_node("work", work if way == "sync" else awork)
    graph.add_node("after", lambda state: {"answers": ["end"]})
    graph.add_edge(START, "before")
    graph.add_edge("before", "work")
    graph.add_edge("work", "after")
    return graph.compile(**options)


def sharing(solver: Any, **options: Any) -> Any:
    """A host that has the solver as a node."""
    graph = StateGraph(Shared, context_schema=Who)
    graph.add_node("work", solver)
    graph.add_node("price", lambda state: {"price": len(state["output"])})
    graph.add_edge(START, "work")
    graph.add_edge("work", "price")
    return graph.compile(**options)


def test_another_state_on_both_sides(run: Run, way: str) -> None:
    assert run(calling(tree(), way), {"question": "w"})["answers"] == ["start", "c!+d!+b!", "end"]
    assert run(sharing(tree()), {"task": "w"}) == {"task": "w", "output": "c!+d!+b!", "price": 8}


def test_twice_in_one_node(run: Run, way: str) -> None:
    for saver in (None, InMemorySaver()):
        state = run(calling(tree(), way, times=2, checkpointer=saver), {"question": "w"}, CONFIG)
        assert state["answers"] == ["start", "c!+d!+b!", "c!+d!+b!", "end"]


def test_at_once_in_several_nodes_and_again_in_a_loop(run: Run) -> None:
    class State(TypedDict, total=False):
        task: str
        output: Annotated[list[str], operator.add]

    solver = Solver(lambda task: f"{task.brief.objective}!")
    graph = StateGraph(State)
    for name in ("one", "two"):
        graph.add_node(name, create_recursive_solver(solver=solver, name=name) | (lambda r: {"output": [r["output"]]}))
        graph.add_edge(START, name)
    graph.add_node("again", lambda state: Command(goto="one" if len(state["output"]) < 4 else END))
    graph.add_edge(["one", "two"], "again")
    graph.add_edge("one", "again")
    host = graph.compile(checkpointer=InMemorySaver())
    assert run(host, {"task": "w"}, CONFIG)["output"][:2] == ["w!", "w!"]
    assert {str(task) for task in solver.tasks} == {"w"}


# Interrupts.


def asking(task: Task) -> str:
    return f"{task}:{interrupt(f'{task}?')}"


@pytest.mark.parametrize("shared", [False, True])
def test_interrupts_reach_the_hosts_caller_and_are_answered_there(run: Run, way: str, shared: bool) -> None:
    solver = Solver(asking)
    inner = tree(solver=solver)
    saver = InMemorySaver()
    host = sharing(inner, checkpointer=saver) if shared else calling(inner, way, checkpointer=saver)
    asked = run(host, {"task": "w"} if shared else {"question": "w"}, CONFIG)["__interrupt__"]
    assert sorted(entry.value for entry in asked) == ["b?", "c?", "d?"]
    state = run(host, Command(resume={entry.id: entry.value.upper() for entry in asked}), CONFIG)
    assert (state["output"] if shared else state["answers"][1]) == "c:C?+d:D?+b:B?"


def test_one_by_one(run: Run, way: str) -> None:
    host = calling(tree(solver=asking), way, checkpointer=InMemorySaver())
    asked = run(host, {"question": "w"}, CONFIG)["__interrupt__"]
    while asked:
        state = run(host, Command(resume={asked[0].id: "yes"}), CONFIG)
        assert len(state.get("__interrupt__", ())) == len(asked) - 1
        asked = state.get("__interrupt__", ())
    assert state["answers"][1] == "c:yes+d:yes+b:yes"


def test_the_hosts_state_shows_the_solver_under_way(run: Run) -> None:
    host = sharing(tree(solver=asking), checkpointer=InMemorySaver())
    run(host, {"task": "w"}, CONFIG)
    snapshot = host.get_state(CONFIG, subgraphs=True)
    assert snapshot.next == ("work",)
    assert snapshot.tasks[0].state.next == ("subtasks",)


# Killed in the middle.


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_host_that_was_killed_in_the_middle_goes_on_there(run: Run, way: str, shared: bool, at: int) -> None:
    lock = threading.Lock()
    calls: Counter[str] = Counter()
    killed: list[bool] = []

    def solve(task: Task) -> str:
        with lock:
            calls[task.id] += 1
            if sum(calls.values()) == at and not killed:
                killed.append(True)
                raise KeyboardInterrupt
        return f"{task}!"

    inner, saver = tree(solver=solve), InMemorySaver()
    host = sharing(inner, checkpointer=saver) if shared else calling(inner, way, checkpointer=saver)
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        run(host, {"task": "w"} if shared else {"question": "w"}, CONFIG, durability="sync")
    state = run(host, None, CONFIG)
    assert (state["output"] if shared else state["answers"]) == ("c!+d!+b!" if shared else ["start", "c!+d!+b!", "end"])
    assert max(calls.values()) <= 2  # at most what was in flight is called again


def test_what_was_finished_before_the_kill_is_not_called_again(run: Run, way: str) -> None:
    calls: list[str] = []

    def join(task: Task, results: list[str]) -> str:
        if task.id == "t" and len(calls) == 3:
            calls.append("killed")
            raise KeyboardInterrupt
        return "+".join(results)

    inner = tree(solver=lambda task: kept(calls, task.id, f"{task}!"), aggregator=join)
    host = calling(inner, way, checkpointer=InMemorySaver())
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        run(host, {"question": "w"}, CONFIG, durability="sync")
    assert run(host, None, CONFIG)["answers"] == ["start", "c!+d!+b!", "end"]
    assert sorted(calls) == ["killed", "t.1.1", "t.1.2", "t.2"]


# What else the host has.


class Names(BaseCallbackHandler):
    def __init__(self) -> None:
        self.names: set[str] = set()

    def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        self.names.add(kwargs["name"])


@pytest.mark.parametrize("shared", [False, True])
def test_store_context_and_callbacks_carry_through_to_nested_tasks(run: Run, way: str, shared: bool) -> None:
    def look(task: Task) -> str:
        runtime: Runtime[Who] = get_runtime(Who)
        assert runtime.store is not None
        runtime.store.put(("seen",), task.id, {"by": runtime.context.user_id, "as": task.owner and task.owner.user_id})
        return "x"

    store, names = InMemoryStore(), Names()
    host = sharing(tree(solver=look), store=store) if shared else calling(tree(solver=look), way, store=store)
    config = {"callbacks": [names], "tags": ["mine"], "metadata": {"my": "own"}}
    run(host, {"task": "w"} if shared else {"question": "w"}, config, context=Who("ann"))
    assert {item.key: item.value for item in store.search(("seen",))} == {
        name: {"by": "ann", "as": "ann"} for name in ("t.1.1", "t.1.2", "t.2")
    }
    assert {"work", "subtasks", "t.1", "t.1.2", "solve"} <= names.names


def test_the_hosts_saver_goes_before_the_solvers_own(run: Run, way: str) -> None:
    own, hosts = InMemorySaver(), InMemorySaver()
    run(calling(tree(checkpointer=own), way, checkpointer=hosts), {"question": "w"}, CONFIG)
    assert list(own.list(CONFIG)) == []
    assert len(list(hosts.list(CONFIG))) > 4


@pytest.mark.parametrize("shared", [False, True])
def test_streaming_with_subgraphs(stream: Run, way: str, shared: bool) -> None:
    host = sharing(tree()) if shared else calling(tree(), way)
    given = {"task": "w"} if shared else {"question": "w"}
    chunks = stream(host, given, stream_mode=["custom", "updates"], subgraphs=True)
    tasks = {event["task_id"] for _, mode, event in chunks if mode == "custom"}
    assert tasks == {"t", "t.1", "t.2", "t.1.1", "t.1.2"}
    nested = [(space, list(update)) for space, mode, update in chunks if mode == "updates" and space]
    assert all(space[0].startswith("work:") for space, _ in nested)
    own = [names[0] for space, names in nested if len(space) == 1]
    assert [name for name in own if name in NODES] == [
        "admit",
        "decompose",
        "subtasks",
        "review",
        "aggregate",
        "verify",
    ]


def test_a_host_with_a_low_recursion_limit_does_not_stop_the_solver(run: Run, way: str) -> None:
    attempts = Solver(lambda task: str(task.attempt))
    inner = create_recursive_solver(
        solver=attempts, verifiers=[lambda attempt: attempt == 3 or reject(f"not {attempt}")]
    )
    state = run(calling(inner, way), {"question": "w"}, {"recursion_limit": 6})
    assert state["answers"] == ["start", "3", "end"]
