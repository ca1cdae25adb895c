"""The trees that are solved, by this engine and by a bare LangGraph recursion, with every call simulated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.graph.solver import RecursiveSolver
from langgraph_recursive.nodes.components import inline
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.budget import Budget
from langgraph_recursive.state.task import Task

__all__ = ("Branch", "balanced", "bare_solver", "chain", "config_of", "solver_of")

WIDTH = 256
"""Calls at once, enough for every tree here."""


@dataclass(frozen=True)
class Branch:
    """A task of the tree: a leaf is one solver call, any other is split and combined; both are verified.

    Attributes:
        text: The task.
        children: What it is split into.
        slow: How many times longer its first call (solver or decomposer) takes.
    """

    text: str
    children: Sequence[Branch] = ()
    slow: float = 1.0

    def walk(self) -> Iterator[Branch]:
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def tasks(self) -> int:
        return sum(1 for _ in self.walk())

    @property
    def calls(self) -> int:
        return sum(3 if branch.children else 2 for branch in self.walk())

    @property
    def critical(self) -> float:
        """The longest path, in calls: no engine can be faster."""
        if not self.children:
            return self.slow + 1
        return self.slow + max(child.critical for child in self.children) + 2

    @property
    def supersteps(self) -> list[float]:
        """How long each step of a flat graph takes, in calls: every task of a step waits for the slowest one."""
        if not self.children:
            return [self.slow, 1]
        below = [child.supersteps for child in self.children]
        return [self.slow, *map(max, zip_longest(*below, fillvalue=0.0)), 1, 1]


def balanced(wide: int, deep: int, text: str = "Write it") -> Branch:
    """A tree with `wide` children per task and `deep` levels of splitting."""
    children = [balanced(wide, deep - 1, f"{text}.{number}") for number in range(wide)] if deep else []
    return Branch(text, children)


def chain(levels: int, *, slow: float = 4.0, holds: bool, text: str = "Write it") -> Branch:
    """A chain with two quick leaves and a straggler on each level.

    Args:
        levels: How many levels.
        slow: How many times longer the straggler's first call takes.
        holds: Whether the straggler is what holds the next level, or a leaf beside it.
        text: The task at the top.
    """
    if not levels:
        return Branch(text, slow=slow if holds else 1.0)
    below = chain(levels - 1, slow=slow, holds=holds, text=f"{text}.0")
    if holds:
        return Branch(text, [below, Branch(f"{text}.1"), Branch(f"{text}.2")], slow=slow)
    return Branch(text, [below, Branch(f"{text}.1"), Branch(f"{text}.2", slow=slow)])


@dataclass
class Parts:
    """The tree's parts, sync and async; each call takes `seconds`, and at 0 none of them waits at all."""

    tree: Branch
    seconds: float = 0.0
    known: dict[str, Branch] = field(init=False)

    def __post_init__(self) -> None:
        self.known = {branch.text: branch for branch in self.tree.walk()}

    async def wait(self, times: float = 1.0) -> None:
        if self.seconds:
            await asyncio.sleep(times * self.seconds)

    def is_leaf(self, text: str) -> bool:
        return not self.known[text].children

    def plan(self, text: str) -> list[str]:
        return [child.text for child in self.known[text].children]

    def of_solver(self, *, in_async: bool) -> dict[str, Any]:
        return self._async() if in_async else self._sync()

    def _async(self) -> dict[str, Any]:
        async def solver(task: Task) -> str:
            await self.wait(self.known[task.brief.objective].slow)
            return "answer"

        async def decomposer(task: Task, depth: int) -> list[str]:
            await self.wait(self.known[task.brief.objective].slow)
            return self.plan(task.brief.objective)

        async def aggregator(task: Task, results: Sequence[str]) -> str:
            await self.wait()
            return "sum"

        async def check(task: Task, result: str) -> bool:
            await self.wait()
            return True

        return {"solver": solver, "decomposer": decomposer, "aggregator": aggregator, "verifiers": [check]}

    def _sync(self) -> dict[str, Any]:
        def solver(task: Task) -> str:
            time.sleep(self.known[task.brief.objective].slow * self.seconds)
            return "answer"

        def decomposer(task: Task, depth: int) -> list[str]:
            time.sleep(self.known[task.brief.objective].slow * self.seconds)
            return self.plan(task.brief.objective)

        def aggregator(task: Task, results: Sequence[str]) -> str:
            time.sleep(self.seconds)
            return "sum"

        def check(task: Task, result: str) -> bool:
            time.sleep(self.seconds)
            return True

        return {"solver": solver, "decomposer": decomposer, "aggregator": aggregator, "verifiers": [check]}


def solver_of(
    tree: Branch,
    *,
    seconds: float = 0.0,
    in_async: bool = True,
    saver: BaseCheckpointSaver[Any] | None = None,
    budget: Budget | None = None,
) -> RecursiveSolver:
    """This engine, for a tree. The atomizer is inline: it knows the tree, and costs no call."""
    parts = Parts(tree, seconds)

    @inline
    def atomizer(task: Task) -> bool:
        return parts.is_leaf(task.brief.objective)

    return create_recursive_solver(
        **parts.of_solver(in_async=in_async),
        atomizer=atomizer,
        policy=SolvePolicy(max_concurrency=WIDTH, max_depth=20, budget=budget or Budget()),
        checkpointer=saver,
    )


class _Bare(TypedDict, total=False):
    text: str
    plan: list[str]
    results: list[str]
    output: str
    passed: bool


def bare_solver(
    tree: Branch, *, seconds: float = 0.0, saver: BaseCheckpointSaver[Any] | None = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The baseline: a LangGraph graph that calls itself, without durable calls, limits, traces or recovery.

    It is what a user writes by hand, and the least that a nested recursion can cost.
    """
    parts = Parts(tree, seconds)

    async def decompose(state: _Bare) -> _Bare:
        plan = parts.plan(state["text"])
        if plan:
            await parts.wait(parts.known[state["text"]].slow)
        return {"plan": plan}

    async def subtasks(state: _Bare) -> _Bare:
        ended = await asyncio.gather(*(compiled.ainvoke({"text": text}) for text in state["plan"]))
        return {"results": [child["output"] for child in ended]}

    async def solve(state: _Bare) -> _Bare:
        await parts.wait(parts.known[state["text"]].slow)
        return {"output": "answer"}

    async def aggregate(state: _Bare) -> _Bare:
        await parts.wait()
        return {"output": "sum"}

    async def verify(state: _Bare) -> _Bare:
        await parts.wait()
        return {"passed": True}

    graph = StateGraph(_Bare)
    for node in (decompose, subtasks, solve, aggregate, verify):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "decompose")
    graph.add_conditional_edges(
        "decompose", lambda state: "subtasks" if state["plan"] else "solve", ["subtasks", "solve"]
    )
    graph.add_edge("subtasks", "aggregate")
    graph.add_edge("aggregate", "verify")
    graph.add_edge("solve", "verify")
    graph.add_edge("verify", END)
    compiled = graph.compile(checkpointer=saver)
    return compiled


def config_of(thread: str) -> Any:
    """The config of one run."""
    return {"configurable": {"thread_id": thread}}
