"""The public API's types, checked by mypy and never run."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, assert_type

from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableSerializable
from langchain_core.tools import BaseTool

from langgraph_recursive.graph import (
    AgentResult,
    Budget,
    Estimate,
    EventEmitter,
    GoalAchievedEvent,
    RecursiveSolver,
    RecursiveTaskSolver,
    SimpleRecursiveAgent,
    SolvePolicy,
    SolveResult,
    TaskTree,
    continue_from_halt,
    create_recursive_solver,
    estimate,
    read_events,
    solver_tool,
    timeline,
    watch,
)
from langgraph_recursive.graph.view import Svg
from langgraph_recursive.nodes import accept, reject
from langgraph_recursive.state import (
    Answer,
    Attempt,
    Halt,
    Intervention,
    Partial,
    SolveTrace,
    SubTask,
    Task,
    TaskBrief,
    Usage,
    Verdict,
)


def split(task: Task, depth: int) -> list[str | SubTask]:
    return [str(task), SubTask("last", depends_on=[0])]


def check(task: Task, result: Answer, attempt: int) -> Verdict:
    return accept("fine") if result.report.answered else reject(f"attempt {attempt} of {task.id}: {result}")


solver = create_recursive_solver(
    solver=lambda task: "answer", decomposer=split, verifiers=[check], policy=SolvePolicy(budget=Budget(max_tasks=9))
)
assert_type(solver, RecursiveSolver)
assert_type(solver.stream("task"), Iterator[Any])
assert_type(solver.astream("task"), AsyncIterator[Any])
solver.invoke("task", {"configurable": {"thread_id": "1"}})
solver.invoke({"task": "task"})
assert_type(
    continue_from_halt(solver, {"configurable": {"thread_id": "1"}}, Intervention(hint="look again")), dict[str, Any]
)
assert_type(estimate(solver.policy), Estimate)
assert_type(solver_tool(solver, name="solve"), BaseTool)
assert_type(ChatPromptTemplate.from_template("{task}") | solver, RunnableSerializable[dict[str, Any], Any])
solver.batch(["task", {"task": "task"}])
assert_type(watch(ChatPromptTemplate.from_template("{task}"), {"task": "task"}), PromptValue)
watch(solver, "task", {"callbacks": []}, file=sys.stdout)
assert_type(TaskTree.from_thread(solver, {"configurable": {"thread_id": "1"}}).html(), str)
assert_type(timeline(read_events("run.jsonl")), Svg)
emitter = EventEmitter()
assert_type(emitter.subscribe("halted", lambda event: print(event["task_id"])), Callable[[], None])
solver.invoke("task", {"callbacks": [emitter]})

front = RecursiveTaskSolver(solver=lambda task: "answer", decomposer=split)
result = front.solve("task")
assert_type(result, SolveResult)
assert_type(result.output, str | None)
assert_type(result.partial, list[Partial])
assert_type(result.traces, list[SolveTrace])
assert_type(result.halt, Halt | None)
assert_type(result.usage, Usage)
assert_type(result.attempts, list[Attempt])

agent = SimpleRecursiveAgent("provider:name", max_iterations=3)
assert_type(agent.solve("goal", subscribe={GoalAchievedEvent: print}), AgentResult)
assert_type(ChatPromptTemplate.from_template("{goal}") | agent, RunnableSerializable[dict[str, Any], Any])


async def heard(event: GoalAchievedEvent) -> None: ...


agent.subscribe(GoalAchievedEvent, heard)


async def use(brief: TaskBrief) -> None:
    assert_type(await front.asolve(brief), SolveResult)
