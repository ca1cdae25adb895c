"""Solvers for the command line's tests: scripted, slowed by DELAY, and logging each call to the file CALL_LOG."""

import os
import time
from typing import Any

from langgraph.types import interrupt

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.graph.solver import RecursiveSolver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.verdict import Verdict, accept, reject

DELAY = float(os.environ.get("DELAY", "0"))


def logged(line: str) -> None:
    path = os.environ.get("CALL_LOG")
    if path:
        with open(path, "a") as log:
            log.write(line + "\n")
            log.flush()
            os.fsync(log.fileno())
    time.sleep(DELAY)


def split(task: Any, depth: int) -> list[str]:
    logged(f"split {task.id}")
    return [f"[red]part {letter}[/red] of \x1b[31m{task.id}" for letter in "abc"] if depth == 0 else []


def answer(task: Any) -> str:
    logged(f"solve {task.id} {task.attempt}")
    return f"answer of {task.id}"


def check(task: Any, result: str, attempt: int) -> Verdict:
    logged(f"check {task.id} {attempt}")
    if task.id == "t.2":
        return reject("expected 12, got 11\nin line 3")
    return accept("all there")


def checked() -> RecursiveSolver:
    return create_recursive_solver(solver=answer, decomposer=split, verifiers=[check])


def rejected() -> RecursiveSolver:
    def never(task: Any, result: str, attempt: int) -> bool:
        return False

    return create_recursive_solver(solver=answer, verifiers=[never], policy=SolvePolicy(max_attempts=2))


def hinted() -> RecursiveSolver:
    """Its second part is rejected until there is a hint."""

    def accepts(task: Any, result: str, attempt: int) -> bool:
        return task.id.split("_")[0] != "t.2" or bool(task.hints)

    return create_recursive_solver(solver=answer, decomposer=split, verifiers=[accepts])


def asking() -> RecursiveSolver:
    def ask(task: Any) -> str:
        return f"you said {interrupt(f'what of {task.id}?')}" if task.depth else str(task)

    def two(task: Any, depth: int) -> list[str]:
        return ["one", "two"] if depth == 0 else []

    def join(task: Any, results: list[str]) -> str:
        return "; ".join(results)

    return create_recursive_solver(solver=ask, decomposer=two, aggregator=join)


unchecked = create_recursive_solver(solver=lambda task: f"plain {task}")
colourful = create_recursive_solver(solver=lambda task: "\x1b[31mred\x1b[0m")
not_a_solver = 42


def chatty() -> RecursiveSolver:
    print("printed while it is made")
    return create_recursive_solver(solver=lambda task: print("printed by a part") or "the answer")


def broken() -> RecursiveSolver:
    raise RuntimeError("no luck")
