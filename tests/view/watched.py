"""Runs that tests watch on a terminal, as a process of their own."""

import sys
import time
from typing import Any

from langgraph_recursive.graph import create_recursive_solver, watch
from langgraph_recursive.nodes import accept, reject


def slow(task: Any) -> str:
    time.sleep(0.2)
    return "4" if task.prior_failures else "5"


def waiting(task: Any) -> str:
    time.sleep(2)
    return "4"


solver = create_recursive_solver(
    solver=slow if sys.argv[1] == "family" else waiting,
    decomposer=lambda task, depth: ["one", "two"] if depth == 0 else [],
    aggregator=lambda results: "+".join(results),
    verifiers=[lambda task, result: accept() if "4" in result else reject(f"{result} is wrong")],
)
try:
    print("output", watch(solver, "the task")["output"])
except KeyboardInterrupt:
    print("stopped")
    sys.exit(130)
