"""A warm process that forks once per run, so that hundreds of crashes cost no interpreter starts.

It reads one `Scenario` per line as JSON, runs its tree in a child that is killed as the scenario
says, again in a new child for each further kill, and in a last one to the end; then it writes what came of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver

import crash_tree
import parent_tree
from call_log import CallLog, Moment, made_deadly
from forks import fork, serve
from langgraph_recursive.graph.history import records, spent_by_run
from langgraph_recursive.state.errors import FinishedThreadError, UnknownThreadError
from saver_kinds import KINDS

WATCHDOG_SECONDS = 30
CONFIG: Any = {"configurable": {"thread_id": "crash"}}
TREES: dict[str, Any] = {"crash_tree": crash_tree, "parent_tree": parent_tree}


@dataclass
class Scenario:
    """One story of crashes.

    Attributes:
        folder: Where its database, log and result go; empty at the start.
        saver: Name of the saver kind.
        in_async: `ainvoke` instead of `invoke`.
        durability: LangGraph's.
        tree: Name of the module with the solver.
        kills: For each run to be killed: at its n-th call, and at which moment of it.
        ends: How each run ended: 0 for a result, minus the signal, or a positive code for an error.
    """

    folder: str
    saver: str
    in_async: bool
    durability: Any
    kills: list[tuple[int, Moment]]
    tree: str
    ends: list[int] = field(default_factory=list)

    def log(self, stage: int) -> Path:
        return Path(self.folder) / f"calls-{stage}.log"

    def stored(self, stage: int) -> Path:
        """Holds how many calls had been stored when a run began."""
        return Path(self.folder) / f"stored-{stage}.txt"

    @property
    def database(self) -> str:
        return str(Path(self.folder) / "run.db")

    @property
    def result(self) -> Path:
        return Path(self.folder) / "result.json"

    @property
    def output(self) -> Path:
        """What a child wrote to stderr: an error's traceback, or the watchdog's dump."""
        return Path(self.folder) / "stderr.txt"


def run_once(scenario: Scenario) -> None:
    """Start or carry on the scenario's run in this process."""
    stage = len(scenario.ends)
    kill_at, moment = scenario.kills[stage] if stage < len(scenario.kills) else (0, "called")
    log = CallLog(scenario.log(stage), kill_at=kill_at, moment=moment)
    scenario.stored(stage).write_text(str(stored_calls(scenario.database) if stage else 0))
    kind, tree = KINDS[scenario.saver], TREES[scenario.tree]
    kwargs: dict[str, Any] = {"durability": scenario.durability}
    if scenario.in_async:
        result, values = asyncio.run(_in_async(kind, tree, scenario, log, stage, kwargs))
    else:
        with kind.open_sync(scenario.database) as saver:
            made_deadly(saver, log)
            solver = tree.crash_solver(log, saver)
            try:
                result = solver.invoke(None if stage else tree.TASK, CONFIG, **kwargs)
            except UnknownThreadError:  # it was killed before its first checkpoint
                result = solver.invoke(tree.TASK, CONFIG, **kwargs)
            except FinishedThreadError:  # it was killed after its last one
                result = ended(solver.get_state(CONFIG).values, saver.list(CONFIG))
            values = solver.get_state(CONFIG).values
    log.close()
    scenario.result.write_text(json.dumps(told(result, values)))


def stored_calls(database: str) -> int:
    """How many finished calls have a record in a database."""
    with SqliteSaver.from_conn_string(database) as saver:
        rows = saver.conn.execute("SELECT type, value FROM writes WHERE channel = '__return__'").fetchall()
        records = [saver.serde.loads_typed((kind, value)) for kind, value in rows]
    # Children and branches return records too, but only a call's own says what it used.
    return sum("usage" in record for record in records)


async def _in_async(
    kind: Any, tree: Any, scenario: Scenario, log: CallLog, stage: int, kwargs: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    async with kind.open_async(scenario.database) as saver:
        made_deadly(saver, log)
        solver = tree.crash_solver(log, saver, in_async=True)
        try:
            result = await solver.ainvoke(None if stage else tree.TASK, CONFIG, **kwargs)
        except UnknownThreadError:
            result = await solver.ainvoke(tree.TASK, CONFIG, **kwargs)
        except FinishedThreadError:
            result = ended((await solver.aget_state(CONFIG)).values, [entry async for entry in saver.alist(CONFIG)])
        return result, (await solver.aget_state(CONFIG)).values


def ended(values: dict[str, Any], checkpoints: Iterable[CheckpointTuple]) -> dict[str, Any]:
    """The result of a run that had ended before it was killed; its traces lie with the tasks."""
    [traces] = spent_by_run(records(checkpoints)).traces.values()
    return {**values, "traces": traces}


def told(result: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """What must be the same however often a run was killed.

    Args:
        result: What the run gave.
        values: The root's channels.
    """
    traces = Counter(f"{trace.type} {trace.task_id} {trace.attempt}" for trace in result["traces"])
    return {
        "output": result["output"],
        "success": result["success"],
        "verified": result["verified"],
        "attempts": [attempt.model_dump(mode="json") for attempt in result["attempts"]],
        "traces": dict(sorted(traces.items())),
        "usage": result["usage"].model_dump(),
        "total_usage": result["total_usage"].model_dump(),
        "said": parent_tree.steps(values.get("parent_messages") or []),
    }


def started(scenario: Scenario) -> int:
    """Run the next stage in a child of its own."""
    return fork(lambda: run_once(scenario), scenario.output, seconds=WATCHDOG_SECONDS)


def goes_on(scenario: Scenario) -> bool:
    """Whether there is a further stage: it was killed as it was to be."""
    return scenario.ends[-1] < 0 and len(scenario.ends) <= len(scenario.kills)


if __name__ == "__main__":
    serve([Scenario(**json.loads(line)) for line in sys.stdin], started, goes_on)
