"""When each task was at work, and what it waited for: the lanes of a timeline, read from events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langgraph_recursive.state.ids import root_ref

__all__ = ("Lane", "Span", "WaitKind", "lanes_of")

WaitKind = Literal["planned", "dependencies", "children", "slot", "person"]


@dataclass
class Span:
    """A stretch of time.

    Attributes:
        start: In seconds since the epoch.
        end: Likewise; None while it is open.
        told: What is said of it.
        kind: How an attempt ended, or what a wait is for.
    """

    start: float
    end: float | None = None
    told: str = ""
    kind: str = ""


@dataclass
class Lane:
    """What happened to one task, in the order of time."""

    attempts: list[Span] = field(default_factory=list)
    calls: list[Span] = field(default_factory=list)
    waits: list[Span] = field(default_factory=list)
    _calls: dict[str, Span] = field(default_factory=dict)
    _waits: dict[str, Span] = field(default_factory=dict)
    _run: str = ""

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take an event of the task in."""
        if self._run != event["run_id"]:
            self._resumed(event)
        take = getattr(self, f"_on_{event['type']}", None)
        if take is not None:
            take(event["time"], event, event["data"])

    def _resumed(self, event: Mapping[str, Any]) -> None:
        """What the process before had under way is over; a person has answered."""
        for known in list(self._calls):
            self._end_call(known, event["time"])
        self.end_wait("person", event["time"])
        self.end_wait("slot", event["time"])
        self._run = event["run_id"]

    def wait(self, kind: WaitKind, now: float, told: str) -> None:
        """Begin to wait; what it waits for already, it goes on to wait for."""
        if kind not in self._waits:
            self._waits[kind] = Span(now, told=told, kind=kind)
            self.waits.append(self._waits[kind])

    def end_wait(self, kind: WaitKind, now: float) -> None:
        """Stop waiting for something."""
        if kind in self._waits:
            self._waits.pop(kind).end = now

    def planned(self, now: float, depends_on: Sequence[str]) -> None:
        """Note when the task was planned; from then on it waits to start."""
        if self.attempts:
            return
        if depends_on:
            self._drop("planned")
            self.wait("dependencies", now, f"waits for {', '.join(depends_on)}")
        elif "dependencies" not in self._waits:
            self.wait("planned", now, "planned, not started")

    def _drop(self, kind: WaitKind) -> None:
        if kind in self._waits:
            self.waits.remove(self._waits.pop(kind))

    def close(self, now: float) -> None:
        """End what is still open when there are no more events."""
        self._close(now, "open", "not ended")

    def _close(self, now: float, kind: str, told: str) -> None:
        for known in list(self._calls):
            self._end_call(known, now)
        for span in self._waits.values():
            span.end = now
        self._waits.clear()
        if self.attempts and self.attempts[-1].end is None:
            span = self.attempts[-1]
            span.end, span.kind, span.told = now, kind, f"{span.told}: {told}"

    def _end_call(self, known: str, now: float) -> None:
        span = self._calls.pop(known)
        span.end, span.told = now, f"{span.told}: {now - span.start:.3f}s"

    # --- events ---

    def _on_task_created(self, now: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.planned(now, data["depends_on"])

    def _on_task_started(self, now: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._close(now, "open", "cut off")
        self.attempts.append(Span(now, told=f"attempt {event['attempt']} ({event['task_id']})"))

    def _on_call_queued(self, now: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.wait("slot", now, f"{data['call']} waits for a slot")

    def _on_call_started(self, now: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.end_wait("slot", now)
        self._calls[data["id"]] = Span(now, told=data["call"])
        self.calls.append(self._calls[data["id"]])

    def _on_call_finished(self, now: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        known = data.get("id", "")
        if known not in self._calls:  # an older version tells of its end alone
            self._calls[known] = Span(now - (event["duration_ms"] or 0) / 1000, told=data["call"])
            self.calls.append(self._calls[known])
        span = self._calls[known]
        self._end_call(known, now)
        span.told += f", {data['error']}" if data.get("error") else ""
        span.kind = "failed" if data.get("error") else ""

    def _on_interrupted(self, now: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.wait("person", now, f"asks a person: {data['value']}")

    def _on_goal_changed(self, now: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.end_wait("children", now)
        if data["goal"] == "waiting_children":
            self.wait("children", now, "waits for its sub-tasks")

    def _on_recovering(self, now: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._close(now, "again", "rejected, tried again")

    def _on_accepted(self, now: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._close(now, "good" if data["verified"] else "idle", "accepted")

    def _on_halted(self, now: float, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._close(now, "idle" if data["halt"] == "cancelled" else "bad", f"{data['halt']}: {data['detail']}")


def lanes_of(events: Sequence[Mapping[str, Any]]) -> dict[str, Lane]:
    """Read the events of one run, as `last_run_events` gives them; lanes by id of the task's first attempt."""
    lanes: dict[str, Lane] = {}
    for event in events:
        lanes.setdefault(root_ref(event["task_id"]), Lane()).feed(event)
        if event["type"] == "decomposed":
            for child_id, _ in event["data"]["children"]:
                lanes.setdefault(root_ref(child_id), Lane()).planned(event["time"], ())
    for lane in lanes.values():
        lane.close(events[-1]["time"])
    return lanes
