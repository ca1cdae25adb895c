"""Storage: bytes per task in SQLite, and memory, each tree in a process of its own."""

from __future__ import annotations

import asyncio
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from langgraph_recursive.graph.sqlite import open_sqlite
from table import Part, Target
from trees import balanced, config_of, solver_of

__all__ = ("measure",)

_SIZES = ((3, 3), (4, 4), (4, 5))
_LENGTHS = {
    "checkpoints": ("thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "checkpoint", "metadata"),
    "writes": ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "task_path", "channel", "value"),
}


def measure(*, quick: bool = False) -> Part:
    """Run trees of growing size, and look at the database each leaves."""
    rows = [_run(wide, deep) for wide, deep in (((2, 1), (2, 2)) if quick else _SIZES)]
    first, last = rows[0], rows[-1]
    growth = round(last["file KB / task"] / first["file KB / task"], 2)
    return Part(
        title="Storage and memory with SQLite (async)",
        rows=rows,
        targets=[]
        if quick
        else [Target("file KB per task, largest tree", last["file KB / task"], 20), Target("growth", growth, 1.3)],
        notes=[
            f"growth of bytes per task from {first['tasks']} to {last['tasks']} tasks: {growth}. file: after close.",
            "content: the lengths of all columns. namespaces: of that, what LangGraph repeats in the rows' namespaces",
            "and metadata. memory: the process's peak over what it held after its imports.",
        ],
    )


def _run(wide: int, deep: int) -> dict[str, Any]:
    command = [sys.executable, __file__, str(wide), str(deep)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"storage of {wide}x{deep} failed:\n{ended.stderr}")
    return dict(json.loads(ended.stdout))


def _peak_kib() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


def _measured(wide: int, deep: int, path: Path) -> dict[str, Any]:
    tree = balanced(wide, deep)
    before = _peak_kib()

    async def run() -> int:
        async with open_sqlite(path) as saver:
            result = await solver_of(tree, saver=saver).ainvoke({"task": tree.text}, config_of("bench"))
            assert result["success"]
            return saver.commits

    commits = asyncio.run(run())
    peak = _peak_kib() - before
    tasks = tree.tasks
    sums = _sums(path)
    content = sum(sum(columns.values()) for columns in sums.values())
    repeated = sums["checkpoints"]["checkpoint_ns"] + sums["checkpoints"]["metadata"] + sums["writes"]["checkpoint_ns"]
    return {
        "tree": f"{wide}x{deep}",
        "tasks": tasks,
        "file KB / task": round(path.stat().st_size / 1024 / tasks, 1),
        "content KB / task": round(content / 1024 / tasks, 1),
        "namespaces KB / task": round(repeated / 1024 / tasks, 1),
        "commits / call": round(commits / tree.calls, 3),
        "memory KB / task": round(peak / tasks, 1),
        "memory MB": round(peak / 1024, 1),
    }


def _sums(path: Path) -> dict[str, dict[str, int]]:
    """Total length of each column's values."""
    db = sqlite3.connect(path)
    try:
        found = {}
        for table, columns in _LENGTHS.items():
            lengths = ", ".join(f"sum(length(cast({column} as blob)))" for column in columns)
            values = db.execute(f"select {lengths} from {table}").fetchone()
            found[table] = {column: value or 0 for column, value in zip(columns, values, strict=True)}
        return found
    finally:
        db.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(_measured(int(sys.argv[1]), int(sys.argv[2]), Path(folder, "runs.db"))))
