"""A solver that does as its task says, for the tests of runs: it splits, answers, asks, waits or errs."""

from __future__ import annotations

import time
from pathlib import Path

from langgraph.types import interrupt

from langgraph_recursive.graph import SolvePolicy, create_recursive_solver
from langgraph_recursive.nodes import accept, reject
from langgraph_recursive.state import Task, Verdict

HERE = Path(__file__).parent
CALLS = HERE / "calls.txt"
GO = HERE / "go"


def work(task: Task) -> str:
    """Answer as the task says: ask a person, wait for the file `go`, say whose it is, err, or just answer."""
    with CALLS.open("a") as calls:
        calls.write(f"{task.owner.root if task.owner else ''} {task.id}\n")
    match task.brief.objective.split():
        case ["ask", about]:
            return f"{about}: {interrupt({'about': about})}"
        case ["wait", *_]:
            while not GO.exists():
                time.sleep(0.02)
        case ["whose", *_]:
            return f"{task.owner.user_id if task.owner else ''}'s"
        case ["err", *_] if task.attempt == 1:
            return "wrong"
        case ["fail", *_] if "please" not in str(task):
            return "wrong"
    return f"{task.brief.objective}!"


def plan(task: Task, depth: int) -> list[str]:
    """Split at every `and`."""
    names = task.brief.objective.split(" and ")
    return names if len(names) > 1 else []


def check(task: Task, result: str, attempt: int) -> Verdict:
    """Reject what is wrong."""
    return reject("it is wrong") if result == "wrong" else accept()


def join(results: list[str]) -> str:
    """Combine."""
    return "; ".join(results)


solver = create_recursive_solver(solver=work, decomposer=plan, aggregator=join, verifiers=[check])
watched = create_recursive_solver(
    solver=work, decomposer=plan, aggregator=join, verifiers=[check], policy=SolvePolicy(interrupt_on_halt=True)
)
