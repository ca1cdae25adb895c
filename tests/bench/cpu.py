"""CPU: what one component call costs when it takes no time itself."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_recursive.graph.sqlite import GroupedSqliteSaver, open_sqlite
from table import Part, Target, medians
from trees import Branch, balanced, bare_solver, config_of, solver_of

__all__ = ("calibration", "measure")

_LOOP = 300_000


def calibration() -> float:
    """CPU milliseconds of a fixed loop on this machine, now: figures of two machines compare by it."""
    started = time.process_time()
    total = 0
    for number in range(_LOOP):
        total += number % 7
    return (time.process_time() - started) * 1000


def measure(*, quick: bool = False) -> Part:
    """Measure CPU time per call, sync and async, without and with SQLite, beside a bare nested recursion."""
    tree = balanced(2, 1) if quick else balanced(4, 4)
    meters = _Meters(tree)
    meters.run_all()  # the first run of each pays for imports and caches
    found = medians(
        1 if quick else 5,
        {
            "async": lambda: meters.per_call(meters.engine),
            "sync": lambda: meters.per_call(meters.engine_sync),
            "bare": lambda: meters.per_call(meters.bare),
            "async, SQLite": lambda: meters.per_call(meters.engine_sqlite),
            "sync, SQLite": lambda: meters.per_call(meters.engine_sync_sqlite),
            "bare, SQLite": lambda: meters.per_call(meters.bare_sqlite),
            "bare, LangGraph's SQLite": lambda: meters.per_call(meters.bare_stock),
            "loop": calibration,
        },
    )
    loop = found.pop("loop")
    rows = []
    for name, value in found.items():
        base = found["bare, SQLite" if "SQLite" in name else "bare"]
        commits = meters.commits.get(name)
        rows.append(
            {
                "variant": name,
                "CPU ms / call": round(value, 2),
                "/ bare": round(value / base, 2),
                "commits / call": "" if commits is None else round(commits / tree.calls, 3),
            }
        )
    both = found["sync"] / found["async"], found["sync, SQLite"] / found["async, SQLite"]
    return Part(
        title=f"CPU per call at zero latency ({tree.tasks} tasks, {tree.calls} calls)",
        rows=rows,
        targets=[]
        if quick
        else [
            Target("async ms", round(found["async"], 2), 1.6),
            Target("async ms, SQLite", round(found["async, SQLite"], 2), 3.0),
        ],
        notes=[
            f"sync / async: {both[0]:.2f}, with SQLite {both[1]:.2f}. A fixed loop took {loop:.1f} ms.",
            "bare: a LangGraph graph that calls itself, without durable calls. SQLite: open_sqlite for both.",
        ],
    )


class _Meters:
    def __init__(self, tree: Branch) -> None:
        self.tree = tree
        self.commits: dict[str, int] = {}

    def per_call(self, run: Callable[[], None]) -> float:
        gc.collect()
        started = time.process_time()
        run()
        return (time.process_time() - started) * 1000 / self.tree.calls

    def run_all(self) -> None:
        for run in (self.engine, self.engine_sync, self.bare, self.engine_sqlite, self.engine_sync_sqlite):
            run()
        self.bare_sqlite()
        self.bare_stock()

    def engine(self) -> None:
        asyncio.run(solver_of(self.tree).ainvoke({"task": self.tree.text}))

    def engine_sync(self) -> None:
        solver_of(self.tree, in_async=False).invoke({"task": self.tree.text})

    def bare(self) -> None:
        asyncio.run(bare_solver(self.tree).ainvoke({"text": self.tree.text}))

    def engine_sqlite(self) -> None:
        async def run(saver: GroupedSqliteSaver) -> None:
            await solver_of(self.tree, saver=saver).ainvoke({"task": self.tree.text}, config_of("bench"))

        self._in_sqlite("async, SQLite", run)

    def engine_sync_sqlite(self) -> None:
        with tempfile.TemporaryDirectory() as folder, open_sqlite(Path(folder, "runs.db")) as saver:
            solver_of(self.tree, in_async=False, saver=saver).invoke({"task": self.tree.text}, config_of("bench"))
            self.commits["sync, SQLite"] = saver.commits

    def bare_sqlite(self) -> None:
        async def run(saver: GroupedSqliteSaver) -> None:
            await bare_solver(self.tree, saver=saver).ainvoke({"text": self.tree.text}, config_of("bench"))

        self._in_sqlite("bare, SQLite", run)

    def bare_stock(self) -> None:
        async def run(path: str) -> None:
            async with AsyncSqliteSaver.from_conn_string(path) as saver:
                await bare_solver(self.tree, saver=saver).ainvoke({"text": self.tree.text}, config_of("bench"))

        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(run(f"{folder}/runs.db"))

    def _in_sqlite(self, name: str, run: Callable[[GroupedSqliteSaver], Awaitable[Any]]) -> None:
        async def opened(path: Path) -> None:
            async with open_sqlite(path) as saver:
                await run(saver)
                self.commits[name] = saver.commits

        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(opened(Path(folder, "runs.db")))
