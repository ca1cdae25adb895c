"""Makespan: how much longer than the critical path a tree takes."""

from __future__ import annotations

import asyncio
import functools
import tempfile
import time
from pathlib import Path
from typing import Any

from langgraph_recursive.graph.sqlite import open_sqlite
from table import Part, Target, medians
from trees import Branch, balanced, bare_solver, chain, config_of, solver_of

__all__ = ("measure",)

_SECONDS = 0.05


def measure(*, quick: bool = False) -> Part:
    """Time trees of simulated calls, by this engine with and without SQLite, and by the baselines."""
    seconds, repetitions = (0.001, 1) if quick else (_SECONDS, 5)
    rows: list[dict[str, Any]] = []
    for name, tree in _trees(quick).items():
        found = medians(
            repetitions,
            {
                "memory": functools.partial(_engine, tree, seconds),
                "sqlite": functools.partial(_durable, tree, seconds),
                "bare LangGraph": functools.partial(_bare, tree, seconds),
            },
        )
        least = tree.critical * seconds
        rows.append(
            {
                "tree": name,
                "tasks": tree.tasks,
                "calls": tree.calls,
                "critical s": round(least, 3),
                **{variant: round(value / least, 2) for variant, value in found.items()},
                "flat supersteps (computed)": round(sum(tree.supersteps) / tree.critical, 2),
            }
        )
    ratio = {row["tree"]: row["sqlite"] for row in rows}
    return Part(
        title=f"Makespan / critical path ({1000 * seconds:g} ms per call, 256 at once)",
        rows=rows,
        targets=[]
        if quick
        else [Target("skewed, SQLite", _worst(ratio), 1.15), Target("4x4, SQLite", ratio["4x4"], 4)],
        notes=[
            "skewed: 8 levels, each with quick leaves and one straggler 4 times as slow: the next level is below it",
            "(holds), or beside it. bare: no durable calls, no saver. flat: no overhead at all, but every task waits",
            "for the slowest of its step.",
        ],
    )


def _worst(ratio: dict[str, float]) -> float:
    return max(value for name, value in ratio.items() if name.startswith("skewed"))


def _trees(quick: bool) -> dict[str, Branch]:
    if quick:
        return {"2x1": balanced(2, 1), "skewed, holds": chain(2, holds=True)}
    return {
        "3x3": balanced(3, 3),
        "4x4": balanced(4, 4),
        "skewed, holds": chain(8, holds=True),
        "skewed, beside": chain(8, holds=False),
    }


def _engine(tree: Branch, seconds: float) -> float:
    solver = solver_of(tree, seconds=seconds)
    started = time.perf_counter()
    result = asyncio.run(solver.ainvoke({"task": tree.text}))
    assert result["success"]
    return time.perf_counter() - started


def _durable(tree: Branch, seconds: float) -> float:
    async def run(path: Path) -> float:
        async with open_sqlite(path) as saver:
            solver = solver_of(tree, seconds=seconds, saver=saver)
            started = time.perf_counter()
            result = await solver.ainvoke({"task": tree.text}, config_of("bench"))
            assert result["success"]
            return time.perf_counter() - started

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(run(Path(folder, "runs.db")))


def _bare(tree: Branch, seconds: float) -> float:
    graph = bare_solver(tree, seconds=seconds)
    started = time.perf_counter()
    result = asyncio.run(graph.ainvoke({"text": tree.text}))
    assert result["passed"]
    return time.perf_counter() - started
