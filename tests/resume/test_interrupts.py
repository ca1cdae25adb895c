"""Interrupts from any part, anywhere in the tree, reach the caller together and can be answered in any way."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, interrupt

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.graph.solver import RecursiveSolver
from langgraph_recursive.nodes.components import inline
from langgraph_recursive.nodes.parts.solvers import llm_solver
from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import Verdict, accept, reject
from scripted import ScriptedChatModel, tool_call

CONFIG: RunnableConfig = {"configurable": {"thread_id": "asks"}}

Result = dict[str, Any]
Runner = Callable[..., Result]


def _invoke(graph: Any, given: Any, config: RunnableConfig = CONFIG) -> Result:
    return dict(graph.invoke(given, config))


def _ainvoke(graph: Any, given: Any, config: RunnableConfig = CONFIG) -> Result:
    async def run() -> Result:
        return dict(await graph.ainvoke(given, config))

    return asyncio.run(run())


@pytest.fixture(params=[_invoke, _ainvoke], ids=["invoke", "ainvoke"])
def run(request: pytest.FixtureRequest) -> Runner:
    runner: Runner = request.param
    return runner


class Asker:
    """Parts that ask a person, and count how often each call was begun and finished."""

    def __init__(self, plans: dict[str, list[str]], asking: dict[tuple[str, str], int]) -> None:
        self.plans = plans
        self.asking = asking
        self.begun: Counter[tuple[str, str]] = Counter()
        self.finished: Counter[tuple[str, str]] = Counter()
        self.lock = threading.Lock()

    def ask(self, role: str, task: Task) -> list[Any]:
        """Ask as often as this part of this task is to; the answers."""
        key = (role, str(task.brief.objective))
        with self.lock:
            self.begun[key] += 1
        answers = [interrupt(f"{role} {key[1]} {number}") for number in range(self.asking.get(key, 0))]
        with self.lock:
            self.finished[key] += 1
        return answers

    def decompose(self, task: Task) -> list[str]:
        more = self.ask("decomposer", task)
        return [*self.plans[task.brief.objective], *map(str, more)]

    def solve(self, task: Task) -> str:
        return "+".join([task.brief.objective, *map(str, self.ask("solver", task))])

    def combine(self, task: Task, results: Sequence[str]) -> str:
        return f"({' '.join(results)})" + "".join(map(str, self.ask("aggregator", task)))

    def check(self, task: Task) -> Verdict:
        answers = self.ask("verifier", task)
        return reject("a person says no") if "no" in answers else accept()

    def solver(self, saver: Any = None) -> RecursiveSolver:
        @inline
        def is_atomic(task: Task) -> bool:
            return task.brief.objective not in self.plans

        return create_recursive_solver(
            atomizer=is_atomic,
            decomposer=self.decompose,
            solver=self.solve,
            aggregator=self.combine,
            verifiers=self.check,
            checkpointer=saver,
        )


def asked(result: Result) -> dict[str, str]:
    """The questions by value, with their ids; each must be there once."""
    found: list[Interrupt] = list(result.get("__interrupt__", ()))
    ids = [item.id for item in found]
    assert len(ids) == len(set(ids)), found
    return {item.value: item.id for item in found}


DEEP = {"a": ["a1", "a2", "a3"], "a1": ["a11", "a12"], "a11": ["a111", "a112"]}
DEEP_ANSWER = "(((a111+1 a112) a12+2) a2+3 a3)"


def deep() -> Asker:
    return Asker(DEEP, {("solver", "a111"): 1, ("solver", "a12"): 1, ("solver", "a2"): 1})


class TestDeep:
    def test_all_reach_the_caller_and_are_answered_at_once(self, run: Runner) -> None:
        asker = deep()
        solver = asker.solver(InMemorySaver())
        questions = asked(run(solver, "a"))
        assert set(questions) == {"solver a111 0", "solver a12 0", "solver a2 0"}
        answers = {"solver a111 0": 1, "solver a12 0": 2, "solver a2 0": 3}
        result = run(solver, Command(resume={questions[text]: value for text, value in answers.items()}))
        assert result["output"] == DEEP_ANSWER
        assert not asked(result)
        # What had finished was not begun again; who asked was begun once more.
        assert set(asker.finished.values()) == {1}
        assert {key for key, count in asker.begun.items() if count > 1} == set(asker.asking)

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)], ids=str)
    def test_one_by_one(self, run: Runner, order: tuple[int, ...]) -> None:
        asker = deep()
        solver = asker.solver(InMemorySaver())
        names = ["solver a111 0", "solver a12 0", "solver a2 0"]
        result = run(solver, "a")
        for place, number in enumerate(order):
            questions = asked(result)
            assert set(questions) == {names[left] for left in order[place:]}
            result = run(solver, Command(resume={questions[names[number]]: number + 1}))
        assert result["output"] == DEEP_ANSWER
        assert set(asker.finished.values()) == {1}

    def test_answered_in_a_new_process(self, run: Runner) -> None:
        """A solver built anew, as after a restart, knows nothing but the checkpoints."""
        saver = InMemorySaver()
        questions = asked(run(deep().solver(saver), "a"))
        later = deep()
        values = {questions["solver a111 0"]: 1, questions["solver a12 0"]: 2, questions["solver a2 0"]: 3}
        result = run(later.solver(saver), Command(resume=values))
        assert result["output"] == DEEP_ANSWER
        assert ("decomposer", "a") not in later.begun
        assert ("solver", "a3") not in later.begun
        assert result["usage"].calls == 19

    def test_a_run_without_an_answer_asks_again(self, run: Runner) -> None:
        asker = deep()
        solver = asker.solver(InMemorySaver())
        first = asked(run(solver, "a"))
        assert asked(run(solver, None)) == first


class TestEveryPart:
    @pytest.mark.parametrize(
        ("role", "task", "answer", "output"),
        [
            ("decomposer", "b", "b3", "(b1 b2 b3)"),
            ("solver", "b1", "!", "(b1+! b2)"),
            ("aggregator", "b", "!", "(b1 b2)!"),
            ("verifier", "b2", "yes", "(b1 b2)"),
            ("verifier", "b", "yes", "(b1 b2)"),
        ],
    )
    def test_asks_and_goes_on(self, run: Runner, role: str, task: str, answer: str, output: str) -> None:
        asker = Asker({"b": ["b1", "b2"]}, {(role, task): 1})
        solver = asker.solver(InMemorySaver())
        questions = asked(run(solver, "b"))
        assert list(questions) == [f"{role} {task} 0"]
        result = run(solver, Command(resume=answer))
        assert result["output"] == output
        assert set(asker.finished.values()) == {1}

    def test_two_questions_in_one_part(self, run: Runner) -> None:
        asker = Asker({"b": ["b1", "b2"]}, {("solver", "b1"): 2})
        solver = asker.solver(InMemorySaver())
        assert set(asked(run(solver, "b"))) == {"solver b1 0"}
        assert set(asked(run(solver, Command(resume="x")))) == {"solver b1 1"}
        result = run(solver, Command(resume="y"))
        assert result["output"] == "(b1+x+y b2)"
        assert asker.begun["solver", "b1"] == 3
        assert asker.begun["solver", "b2"] == 1

    def test_a_persons_no_is_recovered(self, run: Runner) -> None:
        asker = Asker({"b": ["b1", "b2"]}, {("verifier", "b1"): 1})
        solver = asker.solver(InMemorySaver())
        asked(run(solver, "b"))
        again = asked(run(solver, Command(resume="no")))
        assert set(again) == {"verifier b1 0"}
        result = run(solver, Command(resume="yes"))
        assert result["success"]
        assert asker.finished["solver", "b2"] == 1

    def test_two_verifiers_ask_together(self, run: Runner) -> None:
        def first(task: Task) -> bool:
            return bool(interrupt("first?"))

        def second(task: Task) -> bool:
            return bool(interrupt("second?"))

        solver = create_recursive_solver(
            solver=lambda task: "done", verifiers=[first, second], checkpointer=InMemorySaver()
        )
        questions = asked(run(solver, "job"))
        assert set(questions) == {"first?", "second?"}
        result = run(solver, Command(resume=dict.fromkeys(questions.values(), True)))
        assert result["success"]
        assert result["usage"].calls == 3

    def test_tools_ask(self, run: Runner) -> None:
        """Two calls of one message ask at once; the model is not asked again for what it had said."""

        def approve(what: str) -> str:
            """Ask a person."""
            return f"{what}: {interrupt(what)}"

        wanted = [tool_call("approve", f"call_{what}", what=what).tool_calls[0] for what in "ab"]
        both = AIMessage("", tool_calls=wanted)
        model = ScriptedChatModel(answers=[both, "all approved"], tools=True)
        solver = create_recursive_solver(solver=llm_solver(model, tools=[approve]), checkpointer=InMemorySaver())
        questions = asked(run(solver, "job"))
        assert set(questions) == {"a", "b"}
        result = run(solver, Command(resume={questions["a"]: "yes", questions["b"]: "no"}))
        assert result["output"] == "all approved"
        assert len(model.calls) == 2
        assert "a: yes" in model.calls[1].text
        assert "b: no" in model.calls[1].text


class Outer(TypedDict, total=False):
    text: str
    answer: str


class TestEmbedded:
    """The solver as a node of a user's own graph, on the parent's checkpointer."""

    @staticmethod
    def host(asker: Asker, saver: Any, *, in_function: bool) -> Any:
        solver: Any = asker.solver()

        def call(state: Outer) -> Outer:
            return {"answer": solver.invoke({"task": state["text"]})["output"]}

        async def acall(state: Outer) -> Outer:
            return {"answer": (await solver.ainvoke({"task": state["text"]}))["output"]}

        before: Any = RunnableLambda(lambda state: {"task": state["text"]})
        after: Any = RunnableLambda(lambda result: {"answer": result["output"]})
        node: Any = RunnableLambda(call, acall) if in_function else before | solver | after
        graph = StateGraph(Outer)
        graph.add_node("work", node)
        graph.add_edge(START, "work")
        return graph.compile(checkpointer=saver)

    @pytest.mark.parametrize("in_function", [True, False], ids=["function", "node"])
    def test_questions_reach_the_hosts_caller(self, run: Runner, in_function: bool) -> None:
        asker = deep()
        host = self.host(asker, InMemorySaver(), in_function=in_function)
        questions = asked(run(host, {"text": "a"}))
        assert set(questions) == {"solver a111 0", "solver a12 0", "solver a2 0"}
        result = run(host, Command(resume={questions["solver a12 0"]: 2}))
        assert set(asked(result)) == {"solver a111 0", "solver a2 0"}
        result = run(host, Command(resume={questions["solver a111 0"]: 1, questions["solver a2 0"]: 3}))
        assert result["answer"] == DEEP_ANSWER
        assert set(asker.finished.values()) == {1}


def test_a_command_that_answers_nothing_is_refused_and_the_question_stays() -> None:
    graph = create_recursive_solver(solver=lambda task: interrupt("which?"), checkpointer=InMemorySaver())
    for invoke in (_invoke, _ainvoke):
        assert invoke(graph, "w")["__interrupt__"][0].value == "which?"
        with pytest.raises(InvalidInputError, match=r"Command\(resume=None\) answers nothing"):
            invoke(graph, Command(resume=None))
        assert invoke(graph, Command(resume="this"))["output"] == "this"
