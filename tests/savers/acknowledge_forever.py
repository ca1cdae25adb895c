"""Run by test_sqlite_saver: saves from many threads or tasks, printing each id once it is acknowledged."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

from langgraph.checkpoint.base import empty_checkpoint

from langgraph_recursive.graph.sqlite import GroupedSqliteSaver, open_sqlite

WIDTH = 16


def acknowledge(checkpoint_id: str) -> None:
    os.write(1, f"{checkpoint_id}\n".encode())  # one write call: lines of several threads stay whole


def save_in_thread(saver: GroupedSqliteSaver, ns: str) -> None:
    while True:
        checkpoint = empty_checkpoint()
        stored = saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ns}}, checkpoint, {"step": 0}, {})
        saver.put_writes(stored, [("a", ns)], "task")
        acknowledge(checkpoint["id"])


async def save_in_task(saver: GroupedSqliteSaver, ns: str) -> None:
    while True:
        checkpoint = empty_checkpoint()
        stored = await saver.aput(
            {"configurable": {"thread_id": "t", "checkpoint_ns": ns}}, checkpoint, {"step": 0}, {}
        )
        await saver.aput_writes(stored, [("a", ns)], "task")
        acknowledge(checkpoint["id"])


async def save_in_loop(path: str) -> None:
    async with open_sqlite(path) as saver:
        await asyncio.gather(*(save_in_task(saver, f"ns{n}") for n in range(WIDTH)))


def save_in_threads(path: str) -> None:
    with open_sqlite(path) as saver:
        threads = [threading.Thread(target=save_in_thread, args=(saver, f"ns{n}")) for n in range(WIDTH)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    _, how, path = sys.argv
    if how == "async":
        asyncio.run(save_in_loop(path))
    else:
        save_in_threads(path)
