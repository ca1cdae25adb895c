"""Events in a file: from them the tree and the timeline are drawn again without the run."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from langgraph_recursive.graph import TaskTree, events_to_jsonl, path_of, read_events, timeline
from view_kit import Seen

NO_TIME = b'{"type":"x","task_id":"t","attempt":1,"time":NaN,"data":{}}'


def written(path: Path, seen: Seen) -> Path:
    with events_to_jsonl(path) as write:
        for event in seen.events:
            write(event)
    return path


def test_everything_is_drawn_again_from_the_file(tmp_path: Path, good: Seen) -> None:
    log = read_events(written(tmp_path / "run.jsonl", good))
    assert list(log) == good.events
    assert log.note == ""
    assert str(TaskTree.from_events(log)) == str(TaskTree.from_events(good.events))
    assert str(timeline(log)) == str(timeline(good.events))


NEWER = {"task_created", "call_queued", "call_started", "interrupted", "stalled", "budget_spent", "intervened"}
OLDER_FIELDS = {
    "task_started": {"objective", "start"},
    "call_finished": {"call"},
    "verified": {"outcome", "issues"},
}


def older(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the version before told of the same run."""
    kept = []
    for event in events:
        names = OLDER_FIELDS.get(event["type"], set(event["data"]))
        timed = event["type"] == "call_finished"
        if event["type"] not in NEWER:
            data = {name: value for name, value in event["data"].items() if name in names}
            spent = {} if timed else {"duration_ms": None, "usage": None}
            kept.append({**event, **spent, "data": data})
    return kept


def test_file_of_the_version_before_is_drawn_as_well(tmp_path: Path, good: Seen, bad: Seen) -> None:
    for run in (good, bad):
        old = read_events(written(tmp_path / "old.jsonl", Seen(run.graph, older(run.events), run.result)))
        before, now = TaskTree.from_events(old), TaskTree.from_events(run.events)
        assert [(task.id, task.status, task.calls, len(task.attempts)) for task in before] == [
            (task.id, task.status, task.calls, len(task.attempts)) for task in now
        ]
        assert path_of(old) == path_of(run.events)
        assert "solver" in str(timeline(old))
        (tmp_path / "old.jsonl").unlink()


def test_file_of_a_newer_version_is_drawn_as_well(tmp_path: Path, good: Seen) -> None:
    first = good.events[0]
    newer = [{**first, "type": "from_a_later_version", "task_id": "t.9", "data": {"x": 1}, "more": 2}]
    events = [newer[0] if index % 2 else event for event in good.events for index in (0, 1)]
    events = [{**event, "data": {**event["data"], "later": [1]}} for event in events]
    log = read_events(written(tmp_path / "new.jsonl", Seen(good.graph, events, good.result)))
    assert log.note == ""
    assert str(TaskTree.from_events(log)) == str(TaskTree.from_events(good.events))
    assert path_of(log) == path_of(good.events)
    assert "t.9" not in str(timeline(log))


def test_each_line_is_there_at_once(tmp_path: Path, good: Seen) -> None:
    write = events_to_jsonl(tmp_path / "run.jsonl")
    write(good.events[0])
    assert list(read_events(tmp_path / "run.jsonl")) == good.events[:1]
    write.close()
    write.close()


@pytest.mark.parametrize("cut", [1, 40, 90])
def test_cut_file_is_read_up_to_the_cut(cut: int, tmp_path: Path, good: Seen) -> None:
    path = written(tmp_path / "run.jsonl", good)
    path.write_bytes(path.read_bytes()[:-cut] if cut > 1 else path.read_bytes()[:-2])
    with pytest.warns(UserWarning, match="is cut in the middle"):
        log = read_events(path)
    assert list(log) == good.events[:-1]
    assert log.note == f"run.jsonl: line {len(good.events)} is cut in the middle: {len(log)} events read"
    for shown in (str(TaskTree.from_events(log)), TaskTree.from_events(log).html(), str(timeline(log))):
        assert log.note in shown


def test_cut_file_is_written_on(tmp_path: Path, good: Seen) -> None:
    path = tmp_path / "run.jsonl"
    half = len(good.events) // 2
    with events_to_jsonl(path) as write:
        for event in good.events[:half]:
            write(event)
    path.write_bytes(path.read_bytes() + b'{"type": "sol')
    with events_to_jsonl(path) as write:
        for event in good.events[half:]:
            write(event)
    with pytest.warns(UserWarning, match=f"line {half + 1} is no event"):
        log = read_events(path)
    assert list(log) == good.events


def test_file_is_written_over_on_request(tmp_path: Path, good: Seen) -> None:
    path = written(tmp_path / "run.jsonl", good)
    events_to_jsonl(path, append=False).close()
    assert list(read_events(path)) == []


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b"[1]",
        b"{}",
        b'{"type": 1}',
        b"[" * 100_000,
        b'{"type":"x","task_id":"t","attempt":true}',
        b"NaN",
        NO_TIME,
    ],
)
def test_what_is_no_event_is_left_out_and_said(line: bytes, tmp_path: Path, good: Seen) -> None:
    path = written(tmp_path / "run.jsonl", good)
    path.write_bytes(line + b"\n" + path.read_bytes())
    with pytest.warns(UserWarning, match="line 1 is no event"):
        assert list(read_events(path)) == good.events


def test_what_else_is_in_the_custom_stream_is_passed_over(tmp_path: Path, good: Seen) -> None:
    with events_to_jsonl(tmp_path / "run.jsonl") as write:
        for chunk in ("text", None, {"type": "mine"}, good.events[0]):
            write(chunk)
    assert list(read_events(tmp_path / "run.jsonl")) == good.events[:1]


def test_lines_stay_whole_when_threads_write(tmp_path: Path, good: Seen) -> None:
    with events_to_jsonl(tmp_path / "run.jsonl") as write:

        def write_all() -> None:
            for event in good.events:
                write(event)

        threads = [threading.Thread(target=write_all) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(read_events(tmp_path / "run.jsonl")) == 4 * len(good.events)


def test_missing_file_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_events(tmp_path / "none.jsonl")
