"""The SQLite saver that groups writes: grouping, failures, durability, threads and processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, cast
from unittest.mock import patch

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel

from langgraph_recursive.graph.sqlite import GroupedSqliteSaver, open_sqlite

ACKNOWLEDGE_FOREVER = Path(__file__).with_name("acknowledge_forever.py")


def config(ns: str = "", thread: str = "t") -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns}}


def checkpoint(**values: Any) -> Checkpoint:
    made = empty_checkpoint()
    made["channel_values"] = values
    return made


def put(saver: GroupedSqliteSaver, ns: str = "", **values: Any) -> RunnableConfig:
    return saver.put(config(ns), checkpoint(**values), {"step": 0}, {})


async def aput(saver: GroupedSqliteSaver, ns: str = "", **values: Any) -> RunnableConfig:
    return await saver.aput(config(ns), checkpoint(**values), {"step": 0}, {})


def values_of(found: CheckpointTuple | None) -> dict[str, Any]:
    assert found is not None
    return found.checkpoint["channel_values"]


@contextmanager
def writer_held(path: Path) -> Iterator[None]:
    """Keep the database locked for writing from outside, so that writes gather."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def writes_gathering(saver: GroupedSqliteSaver, path: Path) -> Iterator[Callable[[int], None]]:
    """Let writes gather behind a lock from outside; gives a call that waits until so many have."""
    writer = saver._db.writer
    gathered = threading.Semaphore(0)

    def hand_in(job: Any) -> None:
        original(job)
        gathered.release()

    def wait_for(writes: int) -> None:
        for _ in range(writes):
            assert gathered.acquire(timeout=30)

    original = writer._hand_in
    with writer_held(path), patch.object(writer, "_hand_in", hand_in):
        yield wait_for


def run_in_one_group(
    saver: GroupedSqliteSaver, path: Path, calls: Sequence[Callable[[], Any]]
) -> list[BaseException | None]:
    """Run the calls in threads; all but the first few share one transaction."""
    with ThreadPoolExecutor(len(calls)) as threads:
        with writes_gathering(saver, path) as wait_for:
            futures = [threads.submit(call) for call in calls]
            wait_for(len(calls))
        return [future.exception() for future in futures]


def puts(saver: GroupedSqliteSaver, namespaces: Iterable[str]) -> list[Callable[[], Any]]:
    return [partial(put, saver, ns) for ns in namespaces]


# Grouping


async def test_200_concurrent_puts_take_far_fewer_commits(saver: GroupedSqliteSaver) -> None:
    ran: list[str] = []
    saver.conn.set_trace_callback(ran.append)
    await asyncio.gather(*(aput(saver, f"ns{n}", n=n) for n in range(200)))

    assert ran.count("COMMIT") == saver.commits <= 100
    read = await asyncio.gather(*(saver.aget_tuple(config(f"ns{n}")) for n in range(200)))
    assert [values_of(found)["n"] for found in read] == list(range(200))


async def test_all_that_arrives_during_a_transaction_goes_into_the_next(saver: GroupedSqliteSaver, db: Path) -> None:
    with writes_gathering(saver, db) as wait_for:
        tasks = [asyncio.create_task(aput(saver, f"ns{n}")) for n in range(200)]
        await asyncio.sleep(0)
        wait_for(200)
    await asyncio.gather(*tasks)
    assert saver.commits <= 2


def test_32_threads_share_commits_and_read_their_own_writes(saver: GroupedSqliteSaver) -> None:
    def work(n: int) -> list[tuple[int, int]]:
        seen = []
        for step in range(20):
            stored = put(saver, f"ns{n}", step=step)
            saver.put_writes(stored, [("a", step), ("b", n)], "task")
            found = saver.get_tuple(config(f"ns{n}"))
            assert found is not None
            assert found.pending_writes == [("task", "a", step), ("task", "b", n)]
            seen.append((step, values_of(found)["step"]))
        return seen

    with ThreadPoolExecutor(32) as threads:
        for seen in threads.map(work, range(32)):
            assert seen == [(step, step) for step in range(20)]
    assert saver.commits < 32 * 20 * 2 / 2


def test_a_lone_write_does_not_wait_for_company(saver: GroupedSqliteSaver) -> None:
    put(saver)
    put(saver)
    assert saver.commits == 2


def test_writes_without_rows_commit_nothing(saver: GroupedSqliteSaver) -> None:
    stored = put(saver)
    saver.put_writes(stored, [], "task")
    assert saver.commits == 1


def test_opened_with_wal_and_full_sync(saver: GroupedSqliteSaver) -> None:
    assert saver.conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert saver.conn.execute("PRAGMA synchronous").fetchone() == (2,)


# Failures


def test_a_poisoned_write_fails_alone(saver: GroupedSqliteSaver, db: Path) -> None:
    stored = put(saver)

    def poisoned() -> None:
        saver.put_writes(stored, [("a", 1), ("b", 2)], cast(str, object()))

    good = [f"ns{n}" for n in range(6)]
    *errors, error = run_in_one_group(saver, db, [*puts(saver, good), poisoned])

    assert errors == [None] * 6
    assert isinstance(error, sqlite3.Error)
    found = saver.get_tuple(stored)
    assert found is not None
    assert found.pending_writes == []
    assert all(saver.get_tuple(config(ns)) for ns in good)


def test_a_write_that_fails_half_way_leaves_no_rows(saver: GroupedSqliteSaver) -> None:
    stored = put(saver)
    saver.conn.execute(
        "CREATE TRIGGER t BEFORE INSERT ON writes WHEN new.channel = 'b' BEGIN SELECT RAISE(ABORT, 'no b'); END"
    )

    with pytest.raises(sqlite3.IntegrityError, match="no b"):
        saver.put_writes(stored, [("a", 1), ("b", 2)], "task")

    found = saver.get_tuple(stored)
    assert found is not None
    assert found.pending_writes == []


def test_what_cannot_be_serialized_never_reaches_the_database(saver: GroupedSqliteSaver) -> None:
    with pytest.raises(TypeError):
        put(saver, bad=threading.Lock())
    assert saver.commits == 0
    put(saver)


def test_a_failing_commit_fails_its_whole_group_and_no_later_one(saver: GroupedSqliteSaver, db: Path) -> None:
    def deny_commit(action: int, what: str | None, *_: Any) -> int:
        denied = action == sqlite3.SQLITE_TRANSACTION and what == "COMMIT"
        return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK

    saver.conn.set_authorizer(deny_commit)
    errors = run_in_one_group(saver, db, puts(saver, [f"ns{n}" for n in range(4)]))
    saver.conn.set_authorizer(None)

    assert {str(error) for error in errors} == {"not authorized"}
    assert len({id(error) for error in errors}) == 4
    assert [saver.get_tuple(config(f"ns{n}")) for n in range(4)] == [None] * 4
    put(saver, "later")
    assert saver.get_tuple(config("later"))


def test_a_transaction_sqlite_gives_up_is_acknowledged_to_no_one(saver: GroupedSqliteSaver, db: Path) -> None:
    saver.conn.execute(
        "CREATE TRIGGER t BEFORE INSERT ON checkpoints WHEN new.checkpoint_ns = 'bad' "
        "BEGIN SELECT RAISE(ROLLBACK, 'all gone'); END"
    )
    namespaces = ["first", "a", "b", "bad"]
    errors = run_in_one_group(saver, db, puts(saver, namespaces))

    assert isinstance(errors[3], sqlite3.IntegrityError)
    for ns, error in zip(namespaces, errors, strict=True):
        assert (saver.get_tuple(config(ns)) is None) == (error is not None)


def test_a_full_disk_is_reported_and_survived(saver: GroupedSqliteSaver) -> None:
    pages = saver.conn.execute("PRAGMA page_count").fetchone()[0]
    saver.conn.execute(f"PRAGMA max_page_count={pages + 1}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        put(saver, text="x" * 100_000)
    saver.conn.execute("PRAGMA max_page_count=100000")
    put(saver, text="x" * 100_000)


# Async


async def test_a_cancelled_write_disturbs_no_one(saver: GroupedSqliteSaver, db: Path) -> None:
    with writer_held(db):
        tasks = [asyncio.create_task(aput(saver, f"ns{n}")) for n in range(10)]
        await asyncio.sleep(0.1)
        tasks[3].cancel()
        await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [n for n, result in enumerate(results) if isinstance(result, BaseException)] == [3]
    assert isinstance(results[3], asyncio.CancelledError)


async def test_the_event_loop_stays_free_while_the_database_is_locked(saver: GroupedSqliteSaver, db: Path) -> None:
    with writer_held(db):
        waiting = asyncio.create_task(aput(saver))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        assert await saver.aget_tuple(config()) is None  # reads do not queue behind writes
    await waiting


def test_sync_calls_work_inside_a_running_event_loop(saver: GroupedSqliteSaver) -> None:
    async def main() -> None:
        put(saver, n=1)
        assert values_of(saver.get_tuple(config())) == {"n": 1}

    asyncio.run(main())


def test_one_saver_serves_several_event_loops(saver: GroupedSqliteSaver) -> None:
    async def main(ns: str) -> None:
        await asyncio.gather(*(aput(saver, f"{ns}{n}") for n in range(20)))

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda ns: asyncio.run(main(ns)), "abc"))
    assert len(list(saver.list({"configurable": {"thread_id": "t"}}))) == 60


async def test_alist_can_be_left_early(saver: GroupedSqliteSaver) -> None:
    await asyncio.gather(*(aput(saver, f"ns{n}") for n in range(100)))
    rows = saver.alist(None)
    await anext(rows)
    await cast(Any, rows).aclose()
    assert len([row async for row in saver.alist(None)]) == 100


# Listing and deleting


async def test_lists_a_whole_thread_with_all_namespaces(saver: GroupedSqliteSaver) -> None:
    for ns in ("", "a:1", "a:1|b:2"):
        put(saver, ns)
    saver.put(config(thread="other"), checkpoint(), {"step": 0}, {})
    whole: RunnableConfig = {"configurable": {"thread_id": "t"}}

    listed = [row.config["configurable"]["checkpoint_ns"] for row in saver.list(whole)]
    alisted = [row.config["configurable"]["checkpoint_ns"] async for row in saver.alist(whole)]

    assert listed == alisted == ["a:1|b:2", "a:1", ""]


def test_reads_and_writes_while_a_listing_is_open(saver: GroupedSqliteSaver) -> None:
    for n in range(50):
        put(saver, f"ns{n}")
    seen = 0
    for row in saver.list({"configurable": {"thread_id": "t"}}):
        assert saver.get_tuple(row.config)
        put(saver, "meanwhile")
        seen += 1
    assert seen == 50


async def test_deletes_a_thread_in_all_its_namespaces(saver: GroupedSqliteSaver) -> None:
    for delete in (saver.delete_thread, saver.adelete_thread):
        saver.put_writes(put(saver, "a:1"), [("a", 1)], "task")
        saver.put(config(thread="other"), checkpoint(), {"step": 0}, {})
        deleted = delete("t")
        if deleted is not None:
            await deleted
        assert {row.config["configurable"]["thread_id"] for row in saver.list(None)} == {"other"}
        assert saver.conn.execute("SELECT count(*) FROM writes").fetchone() == (0,)


async def test_delta_history_equals_that_of_langgraphs_saver(saver: GroupedSqliteSaver, db: Path) -> None:
    stored = put(saver, seed=[0])
    for n in range(3):
        saver.put_writes(stored, [("seed", n)], f"task{n}")
        parent = {"configurable": {**config()["configurable"], **stored["configurable"]}}
        stored = saver.put(cast(RunnableConfig, parent), checkpoint(), {"step": n}, {})

    ours = saver.get_delta_channel_history(config=stored, channels=["seed"])
    with SqliteSaver.from_conn_string(str(db)) as stock:
        theirs = stock.get_delta_channel_history(config=stored, channels=["seed"])

    assert ours == theirs == await saver.aget_delta_channel_history(config=stored, channels=["seed"])
    assert len(ours["seed"]["writes"]) == 3


def test_langgraphs_saver_reads_the_file_and_the_other_way_round(db: Path) -> None:
    with SqliteSaver.from_conn_string(str(db)) as stock:
        stock.put(config(), checkpoint(n=1), {"step": 0}, {})
    with GroupedSqliteSaver.from_conn_string(str(db)) as saver:
        assert values_of(saver.get_tuple(config())) == {"n": 1}
        put(saver, n=2)
    with SqliteSaver.from_conn_string(str(db)) as stock:
        assert values_of(stock.get_tuple(config())) == {"n": 2}


# Opening and closing


async def test_a_closed_saver_says_so(db: Path) -> None:
    saver = open_sqlite(db)
    stored = put(saver)
    saver.close()
    saver.close()
    for call in (
        lambda: put(saver),
        lambda: saver.put_writes(stored, [("a", 1)], "task"),
        lambda: saver.get_tuple(config()),
        lambda: list(saver.list(None)),
        lambda: saver.delete_thread("t"),
    ):
        with pytest.raises(sqlite3.ProgrammingError, match=r"saver of .*runs\.db is closed"):
            call()
    for acall in (aput(saver), saver.aget_tuple(config()), anext(saver.alist(None))):
        with pytest.raises(sqlite3.ProgrammingError, match="is closed"):
            await cast(Any, acall)


def test_closing_commits_what_was_handed_in(db: Path) -> None:
    saver = open_sqlite(db)
    with ThreadPoolExecutor(20) as threads:
        with writes_gathering(saver, db) as wait_for:
            futures = [threads.submit(call) for call in puts(saver, [f"ns{n}" for n in range(20)])]
            wait_for(20)
            closing_saver = threading.Thread(target=saver.close)
            closing_saver.start()
        closing_saver.join()
        assert [future.exception() for future in futures] == [None] * 20
    with open_sqlite(db) as again:
        assert len(list(again.list(None))) == 20


def test_closing_with_a_listing_open(db: Path) -> None:
    with open_sqlite(db) as saver:
        for n in range(3):
            put(saver, f"ns{n}")
        rows = saver.list(None)
        next(rows)
    assert len(list(rows)) == 2


async def test_closing_leaves_no_log_and_no_thread(db: Path) -> None:
    before = threading.active_count()
    async with open_sqlite(db) as saver:
        await aput(saver)
        await saver.aget_tuple(config())
    assert [file.name for file in db.parent.iterdir()] == [db.name]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sqlite-")]
    assert threading.active_count() <= before + 1  # asyncio keeps the one that closed the saver


def test_an_unclosed_saver_drains_and_lets_the_interpreter_exit(db: Path) -> None:
    script = """
import sys, threading
from langgraph.checkpoint.base import empty_checkpoint
from langgraph_recursive.graph.sqlite import open_sqlite
saver = open_sqlite(sys.argv[1])
where = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
for _ in range(20):
    threading.Thread(target=saver.put, args=(where, empty_checkpoint(), {}, {})).start()
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(db)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    with open_sqlite(db) as saver:
        assert len(list(saver.list(None))) == 20


@pytest.mark.parametrize("path", [":memory:", ""])
def test_refuses_an_in_memory_database(path: str) -> None:
    with pytest.raises(ValueError, match="InMemorySaver"):
        open_sqlite(path)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 warns of any fork with threads
def test_refuses_to_be_used_across_a_fork(saver: GroupedSqliteSaver) -> None:
    put(saver)
    child = multiprocessing.get_context("fork").Process(target=_put_in_fork, args=(saver,))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    put(saver)


def _put_in_fork(saver: GroupedSqliteSaver) -> None:
    for call in (lambda: put(saver), lambda: saver.get_tuple(config())):
        with pytest.raises(sqlite3.ProgrammingError, match="fork"):
            call()
    saver.close()


# Processes


@pytest.mark.parametrize("how", ["sync", "async"])
def test_kill_9_loses_nothing_acknowledged(db: Path, how: str) -> None:
    child = subprocess.Popen(
        [sys.executable, str(ACKNOWLEDGE_FOREVER), how, str(db)], stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        acknowledged = [child.stdout.readline().strip() for _ in range(300)]
        os.kill(child.pid, signal.SIGKILL)
        acknowledged += [line.strip() for line in child.stdout if line.endswith("\n")]
        assert child.wait(30) == -signal.SIGKILL

    with open_sqlite(db) as saver:
        found = {row.checkpoint["id"]: row for row in saver.list(None)}
        assert saver.conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert set(acknowledged) <= set(found)
    assert all(found[checkpoint_id].pending_writes for checkpoint_id in acknowledged)


def test_two_processes_write_one_file(db: Path) -> None:
    command = [sys.executable, str(ACKNOWLEDGE_FOREVER), "sync", str(db)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    acknowledged: list[str] = []
    try:
        for child in children:
            assert child.stdout is not None
            acknowledged += [child.stdout.readline().strip() for _ in range(100)]
            assert child.poll() is None
    finally:
        for child in children:
            with child:
                child.kill()

    with open_sqlite(db) as saver:
        assert set(acknowledged) <= {row.checkpoint["id"] for row in saver.list(None)}


def test_a_lock_that_stays_is_an_error_only_after_the_timeout(db: Path) -> None:
    with open_sqlite(db, timeout=0.5) as saver:
        started = time.monotonic()
        with writer_held(db), pytest.raises(sqlite3.OperationalError, match="locked") as caught:
            put(saver)
        assert time.monotonic() - started >= 0.4
        assert str(db) in str(caught.value)
        assert "0.5 s" in str(caught.value)
        put(saver)


# Serializers


class Order(BaseModel):
    item: str


def test_copies_with_an_allowlist_share_the_database(db: Path) -> None:
    with open_sqlite(db, serde=JsonPlusSerializer(allowed_msgpack_modules=())) as saver:
        derived = saver.with_allowlist({(__name__, "Order")})
        assert derived is not saver
        assert isinstance(derived, GroupedSqliteSaver)
        put(saver, order=Order(item="nut"))

        assert values_of(derived.get_tuple(config()))["order"] == Order(item="nut")
        assert values_of(saver.get_tuple(config()))["order"] != Order(item="nut")
        assert derived.commits == saver.commits == 1
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        derived.get_tuple(config())


class State(TypedDict, total=False):
    order: Order


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_graph_resumes_sync_and_async_on_one_saver(saver: GroupedSqliteSaver, durability: Any) -> None:
    builder = StateGraph(State)
    builder.add_node("first", lambda _: {"order": Order(item="nut")})
    builder.add_node("second", lambda state: {"order": Order(item=state["order"].item + "s")})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", END)
    graph = builder.compile(checkpointer=saver, interrupt_before=["second"])
    where: RunnableConfig = {"configurable": {"thread_id": "graph"}}

    graph.invoke({}, where, durability=durability)
    assert await graph.ainvoke(None, where, durability=durability) == {"order": Order(item="nuts")}


def test_is_langgraphs_own_saver(saver: GroupedSqliteSaver) -> None:
    checked: BaseCheckpointSaver[str] = saver
    assert isinstance(checked, SqliteSaver)
