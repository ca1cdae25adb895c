"""A warm process that forks once per run: a run halts, a person decides, and the process is killed at a write.

It reads one `Scenario` per line as JSON. The first child runs to the halt; the second carries the decision out and is
killed before or after its n-th write; the third goes on as a user would, to the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from call_log import CallLog
from forks import fork, serve
from langgraph_recursive.graph import SolvePolicy, acontinue_from_halt, continue_from_halt, open_sqlite
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.components import inline
from langgraph_recursive.state import FinishedThreadError, InvalidInputError, SubTask, Task, Verdict
from langgraph_recursive.state.verdict import accept, reject
from saver_kinds import KINDS, SaverKind, new_file

WATCHDOG_SECONDS = 60
CONFIG: Any = {"configurable": {"thread_id": "halt"}}
DECISION = {"hint": "count twice", "limits": {"max_attempts": 4}, "by": "ann"}
PLANS: dict[str, list[SubTask]] = {
    "job": [SubTask("left"), SubTask("right", [0])],
    "left": [SubTask("first"), SubTask("second")],
    "right": [SubTask("third"), SubTask("fourth")],
}
"""`second` is bad until there is a hint; `third` until its fourth attempt, which only a raised limit allows."""

HISTORY = SaverKind(
    "history",
    new_file,
    lambda location: open_sqlite(location, nested_history=True),
    lambda location: open_sqlite(location, nested_history=True),
)
SAVERS = {**KINDS, HISTORY.name: HISTORY}


@dataclass
class Scenario:
    """One story of a halt.

    Attributes:
        folder: Where its logs and result go.
        location: Where its saver keeps it.
        saver: Name of the saver kind.
        in_async: Whether it runs on an event loop.
        asks: Whether it asks by an interrupt; else `continue_from_halt` is called.
        kill_at: The write at which the second run is killed; 0 for never.
        after: Whether it is killed right after the write, not before.
        ends: How each run ended: 0, minus the signal, or a positive code for an error.
    """

    folder: str
    location: str
    saver: str
    in_async: bool
    asks: bool
    kill_at: int
    after: bool
    ends: list[int] = field(default_factory=list)

    @property
    def stage(self) -> int:
        """0 up to the halt, 1 from the decision on, 2 after the kill."""
        return len(self.ends)

    def log(self, stage: int) -> Path:
        return Path(self.folder) / f"calls-{stage}.log"

    @property
    def result(self) -> Path:
        return Path(self.folder) / "result.json"


class Parts:
    """The components; each logs its calls."""

    def __init__(self, log: CallLog) -> None:
        self.log = log

    def solve(self, task: Task) -> str:
        with self.log.call(task, "solver"):
            return task.brief.objective

    def combine(self, task: Task, results: Sequence[str]) -> str:
        with self.log.call(task, "aggregator"):
            return "+".join(results)

    def check(self, task: Task) -> Verdict:
        with self.log.call(task, "check"):
            if task.brief.objective == "second" and not task.hints:
                return reject("no hint")
            return reject("too soon") if task.brief.objective == "third" and task.attempt < 4 else accept()


@inline
def plan(task: Task) -> list[SubTask]:
    return PLANS.get(task.brief.objective, [])


def solver_of(scenario: Scenario, saver: Any, log: CallLog) -> Any:
    parts = Parts(log)
    return create_recursive_solver(
        decomposer=plan,
        solver=parts.solve,
        aggregator=parts.combine,
        verifiers=[parts.check],
        policy=SolvePolicy(
            max_attempts=1,
            max_concurrency=1,
            stall_window=0,
            interrupt_on_halt=scenario.asks,
            on_child_failure="replan",  # nobody is stopped: what had been done at the halt is the same in every story
            max_replans=0,
        ),
        checkpointer=saver,
    )


class Writes:
    """Counts a saver's writes, and ends the process at one of them."""

    def __init__(self, scenario: Scenario) -> None:
        self.count = 0
        self.kill_at = scenario.kill_at if scenario.stage == 1 else 0
        self.after = scenario.after
        self._lock = threading.Lock()

    def begins(self) -> bool:
        """Note that a write begins; whether the process dies after it."""
        with self._lock:
            self.count += 1
            deadly = self.count == self.kill_at
        if deadly and not self.after:
            die()
        return deadly

    def counted(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Have a saver tell of its writes."""
        kind: Any = type(saver)
        writes = self

        class Counted(kind):  # type: ignore[misc]  # whatever saver it is
            def put(self, *args: Any, **kwargs: Any) -> Any:
                deadly = writes.begins()
                done = super().put(*args, **kwargs)
                return die() if deadly else done

            def put_writes(self, *args: Any, **kwargs: Any) -> None:
                deadly = writes.begins()
                super().put_writes(*args, **kwargs)
                if deadly:
                    die()

            async def aput(self, *args: Any, **kwargs: Any) -> Any:
                deadly = writes.begins()
                done = await super().aput(*args, **kwargs)
                return die() if deadly else done

            async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
                deadly = writes.begins()
                await super().aput_writes(*args, **kwargs)
                if deadly:
                    die()

        saver.__class__ = Counted


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()


def run_once(scenario: Scenario) -> None:
    """Run the scenario's next stage in this process."""
    log, writes = CallLog(scenario.log(scenario.stage)), Writes(scenario)
    if scenario.in_async:
        result = asyncio.run(_in_async(scenario, log, writes))
    else:
        with SAVERS[scenario.saver].open_sync(scenario.location) as saver:
            writes.counted(saver)
            result = _in_sync(scenario, solver_of(scenario, saver, log))
    log.close()
    scenario.result.write_text(json.dumps({**told(result), "writes": writes.count}))


def _in_sync(scenario: Scenario, solver: Any) -> dict[str, Any]:
    if scenario.stage == 0:
        return dict(solver.invoke("job", CONFIG, durability="sync"))
    if not scenario.asks:
        try:
            return continue_from_halt(solver, CONFIG, DECISION, durability="sync")
        except FinishedThreadError:  # it was killed after its last write
            return dict(solver.get_state(CONFIG).values)
        except InvalidInputError:  # its decision is stored already
            return dict(solver.invoke(None, CONFIG, durability="sync"))
    given: Any = Command(resume=DECISION) if solver.get_state(CONFIG).interrupts else None
    if solver.get_state(CONFIG).next == ():
        return dict(solver.get_state(CONFIG).values)
    result = solver.invoke(given, CONFIG, durability="sync")
    return dict(
        solver.invoke(Command(resume=DECISION), CONFIG, durability="sync") if "__interrupt__" in result else result
    )


async def _in_async(scenario: Scenario, log: CallLog, writes: Writes) -> dict[str, Any]:
    async with SAVERS[scenario.saver].open_async(scenario.location) as saver:
        writes.counted(saver)
        solver = solver_of(scenario, saver, log)
        if scenario.stage == 0:
            return dict(await solver.ainvoke("job", CONFIG, durability="sync"))
        if not scenario.asks:
            try:
                return await acontinue_from_halt(solver, CONFIG, DECISION, durability="sync")
            except FinishedThreadError:
                return dict((await solver.aget_state(CONFIG)).values)
            except InvalidInputError:
                return dict(await solver.ainvoke(None, CONFIG, durability="sync"))
        state = await solver.aget_state(CONFIG)
        if state.next == ():
            return dict(state.values)
        result = await solver.ainvoke(Command(resume=DECISION) if state.interrupts else None, CONFIG, durability="sync")
        if "__interrupt__" in result:
            result = await solver.ainvoke(Command(resume=DECISION), CONFIG, durability="sync")
        return dict(result)


def told(result: dict[str, Any]) -> dict[str, Any]:
    """What must be the same wherever it was killed."""
    if "__interrupt__" in result or not result.get("attempts"):
        return {}
    return {
        "output": result["output"],
        "attempts": [attempt.model_dump(mode="json") for attempt in result["attempts"]],
        "usage": result["usage"].model_dump(),
    }


def started(scenario: Scenario) -> int:
    """Run the next stage in a child of its own."""
    return fork(lambda: run_once(scenario), Path(scenario.folder) / "stderr.txt", seconds=WATCHDOG_SECONDS)


def goes_on(scenario: Scenario) -> bool:
    """Whether there is a further stage: it was killed as it was to be."""
    return scenario.ends in ([0], [0, -signal.SIGKILL])


if __name__ == "__main__":
    serve([Scenario(**json.loads(line)) for line in sys.stdin], started, goes_on)
