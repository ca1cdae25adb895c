"""How the parts are called, and what they may give back (rules 1, 8, 25, 31)."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import RetryPolicy

from engine_kit import Solver, kept, kinds, split
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.nodes.retry import is_transient
from langgraph_recursive.state.errors import (
    ComponentError,
    InvalidInputError,
    MissingSolverError,
    UnparsableOutputError,
)
from langgraph_recursive.state.report import TaskReport, Validation, answer_report
from langgraph_recursive.state.task import Task
from scripted import ScriptedChatModel

Run = Callable[..., dict[str, Any]]

QUICK = RetryPolicy(initial_interval=0.01, jitter=False, retry_on=is_transient)


class Called:
    def __call__(self, task: Task) -> str:
        return f"called {task}"


class CalledAsync:
    async def __call__(self, task: Task) -> str:
        await asyncio.sleep(0)
        return f"called {task}"


class Bound:
    def solve(self, task: Task) -> str:
        return f"called {task}"


def two(prefix: str, task: Task) -> str:
    return f"{prefix} {task}"


async def atwo(prefix: str, task: Task) -> str:
    await asyncio.sleep(0)
    return f"{prefix} {task}"


def plain(task: Task) -> str:
    return f"called {task}"


async def aplain(task: Task) -> str:
    await asyncio.sleep(0)
    return f"called {task}"


def chat(answer: str = "called w", **kwargs: Any) -> ScriptedChatModel:
    return ScriptedChatModel(answers=lambda messages: answer, **kwargs)


def messages_graph() -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [AIMessage(f"called {state['messages'][-1].text}")]})
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile()


SOLVERS: dict[str, Callable[[], Any]] = {
    "function": lambda: plain,
    "async function": lambda: aplain,
    "no arguments": lambda: lambda: "called w",
    "another name": lambda: lambda text: f"called {text}",
    "keyword only": lambda: lambda *, task: f"called {task}",
    "any arguments": lambda: lambda *args: f"called {args[0]}",
    "any keywords": lambda: lambda task, **kwargs: f"called {task}",
    "a captured default": lambda: lambda task, word="called": f"{word} {task}",
    "positional only": lambda: eval("lambda task, /: f'called {task}'"),
    "callable object": Called,
    "async callable object": CalledAsync,
    "method": lambda: Bound().solve,
    "partial": lambda: functools.partial(two, "called"),
    "async partial": lambda: functools.partial(atwo, "called"),
    "partial by name": lambda: functools.partial(two, prefix="called"),
    "RunnableLambda": lambda: RunnableLambda(lambda given: f"called {given['task']}"),
    "async RunnableLambda": lambda: RunnableLambda(
        lambda given: f"called {given['task']}", afunc=lambda given: aplain(given["task"])
    ),
    "chain": lambda: ChatPromptTemplate.from_template("do {task}") | chat() | StrOutputParser(),
    "chain that ends in a model": lambda: ChatPromptTemplate.from_template("do {task}") | chat(),
    "chat model": chat,
    "messages graph": messages_graph,
    "agent": lambda: create_agent(chat(tools=True), tools=[]),
    "nested solver": lambda: create_recursive_solver(solver=plain),
    "function that calls a nested solver": lambda: (
        lambda task: create_recursive_solver(solver=plain).invoke({"task": task})
    ),
}


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_solver_may_be(run: Run, kind: str) -> None:
    result = run(create_recursive_solver(solver=SOLVERS[kind]()), "w")
    assert (result["halt"], result["output"]) == (None, "called w")


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_solver_of_children_may_be(run: Run, kind: str) -> None:
    graph = create_recursive_solver(
        solver=SOLVERS[kind](),
        decomposer=split({"top": ["w", "W w"]}),
        aggregator=lambda task, results: results[0],
    )
    result = run(graph, "top")
    assert (result["halt"], result["output"]) == (None, "called w")


def test_a_builtin_without_a_signature_gets_all_by_position(run: Run) -> None:
    assert run(create_recursive_solver(solver=str), "w")["output"] == "w"


def test_arguments_are_bound_by_name_in_any_order(run: Run) -> None:
    seen: list[tuple[int, str, str]] = []
    graph = create_recursive_solver(
        solver=lambda: "x",
        decomposer=lambda depth, task: [f"{task.id}-{depth}"] if depth == 0 else [],
        atomizer=lambda depth: depth > 0,
        aggregator=lambda results, task: f"{task.id}:{len(results)}",
        verifiers=[lambda attempt, result, task: kept(seen, (attempt, str(result), task.id), True)],
    )
    assert run(graph, "w")["output"] == "t:1"
    assert seen == [(1, "x", "t.1"), (1, "t:1", "t")]


def test_a_verifier_may_take_only_the_result(run: Run) -> None:
    assert run(create_recursive_solver(solver=Solver(), verifiers=[lambda result: result == "done"]), "w")["verified"]


def test_a_task_reads_as_its_text(run: Run) -> None:
    assert run(create_recursive_solver(solver=lambda task: f"{task}|{str(task).upper()}"), "w")["output"] == "w|W"


def test_a_runnable_is_given_one_dict_by_argument_names(run: Run) -> None:
    seen: list[set[str]] = []

    def keep(given: dict[str, Any]) -> str:
        return kept(seen, set(given), "x")

    def judge(given: dict[str, Any]) -> bool:
        return kept(seen, set(given), True)

    graph = create_recursive_solver(
        solver=RunnableLambda(keep),
        decomposer=RunnableLambda(lambda given: ["a"] if given["depth"] == 0 else []),
        aggregator=RunnableLambda(keep),
        verifiers=[RunnableLambda(judge)],
    )
    assert run(graph, "w")["success"]
    assert {frozenset(keys) for keys in seen} == {
        frozenset({"task"}),
        frozenset({"task", "results"}),
        frozenset({"task", "result", "attempt"}),
    }


class OnlyTask(TypedDict):
    task: Any
    answer: str


def test_a_graph_without_messages_gets_the_arguments_as_its_state(run: Run) -> None:
    builder = StateGraph(OnlyTask)
    builder.add_node("answer", lambda state: {"answer": str(state["task"])})
    builder.add_edge(START, "answer")
    solver = builder.compile() | RunnableLambda(lambda state: state["answer"])
    assert run(create_recursive_solver(solver=solver), "w")["output"] == "w"


def test_a_chat_model_judges_and_aggregates_too(run: Run) -> None:
    judge = chat("ACCEPT fine")
    joiner = chat("joined")
    graph = create_recursive_solver(
        solver=Solver("part"), decomposer=split({"w": ["a", "b"]}), aggregator=joiner, verifiers=[judge]
    )
    result = run(graph, "w")
    assert (result["output"], result["verified"]) == ("joined", True)
    assert "part" in joiner.calls[0].text
    assert all("part" in call.text or "joined" in call.text for call in judge.calls)
    assert result["usage"].model_calls == 4


def test_a_nested_solver_that_halts_is_a_failed_report_that_says_why(run: Run) -> None:
    inner = create_recursive_solver(solver=Solver(), verifiers=[lambda: False])
    halt = run(create_recursive_solver(solver=inner), "w")["halt"]
    assert halt.type == "task_failed"
    assert "recovery_stalled" in halt.detail


# What is wrong with a component is said as early as possible.


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (
            {"solver": lambda one, two_, three: "x"},
            r"solver .* needs \(one, two_, three\), but is called with \(task\)",
        ),
        ({"solver": lambda *, context: "x"}, r"needs \(context\)"),
        ({"solver": 5}, "solver = 5: must be a callable or a Runnable"),
        ({"solver": Solver(), "decomposer": lambda a, b, c: []}, "decomposer"),
        ({"solver": Solver(), "verifiers": [lambda a, b, c, d: True]}, "verifier"),
        ({"solver": Solver(), "verifiers": ["pytest"]}, "verifier = 'pytest'"),
        ({"solver": Solver(), "aggregator": lambda a, b, c: ""}, "aggregator"),
        ({"solver": Solver(), "atomizer": "yes"}, "atomizer = 'yes'"),
        ({"solver": Solver(), "prechecks": [lambda a, b: True]}, "precheck"),
    ],
)
def test_a_component_that_cannot_be_called_is_refused_when_the_solver_is_built(
    parts: dict[str, Any], says: str
) -> None:
    with pytest.raises(ComponentError, match=says) as caught:
        create_recursive_solver(**parts)
    assert caught.value.code == "invalid_component"
    assert caught.value.field is not None


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"solver": lambda task: 5}, "solver 'solver' returned int 5, not a str"),
        ({"solver": lambda task: None}, "solver 'solver' returned None, not a str"),
        ({"solver": lambda task: {"answer": 1}}, "solver 'solver' returned dict"),
        ({"solver": lambda task: {"outcome": "great", "summary": "s"}}, "a report that is not valid"),
        ({"solver": aplain, "verifiers": [lambda: "maybe" if False else 7]}, "verifier 'verifier' returned int 7"),
        ({"solver": plain, "decomposer": lambda: 7}, "decomposer 'decomposer' returned int 7"),
        ({"solver": plain, "decomposer": lambda: [7]}, "an entry that is not"),
        ({"solver": plain, "decomposer": lambda: [" "]}, "an entry that is not"),
        ({"solver": plain, "decomposer": lambda: [{"task": "a", "after": [1]}]}, "a sub-task that is not valid"),
        ({"solver": plain, "decomposer": lambda: ["a"], "atomizer": lambda: 7}, "atomizer 'atomizer' returned int 7"),
        (
            {"solver": plain, "decomposer": split({"w": ["a"]}), "aggregator": lambda: 7},
            "aggregator 'aggregator' returned int 7",
        ),
        ({"solver": plain, "prechecks": [lambda: 7]}, "precheck 'precheck' returned int 7"),
    ],
)
def test_a_wrong_return_value_raises_and_says_which_call_returned_what(
    run: Run, parts: dict[str, Any], says: str
) -> None:
    with pytest.raises(ComponentError, match=says):
        run(create_recursive_solver(**parts), "w")


def test_a_wrong_return_value_deep_in_the_tree_reaches_the_caller(run: Run) -> None:
    graph = create_recursive_solver(
        solver=lambda task: 5 if task.depth == 2 else "x", decomposer=split({"w": ["a", "b"], "a": ["c"]})
    )
    with pytest.raises(ComponentError, match="returned int 5"):
        run(graph, "w")


def test_without_model_and_solver_there_is_nothing_to_build() -> None:
    with pytest.raises(MissingSolverError, match="give a model"):
        create_recursive_solver(decomposer=split({}))


def test_tools_without_the_built_in_solver_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="tools"):
        create_recursive_solver(solver=plain, tools=[plain])


# Reports.


def test_a_report_is_taken_as_it_is_with_the_attempts_id_filled_in(run: Run) -> None:
    report = TaskReport(
        summary="did it",
        outcome="satisfied",
        validation=Validation(hard_passed=True),
        outputs=[{"text": "the answer"}],
        source_urls=["https://example.org"],
    )
    for given in (report, report.model_dump()):
        result = run(create_recursive_solver(solver=lambda task, _g=given: _g), "w")
        assert result["output"] == "the answer"
        assert result["report"].child_task_id == "t"
        assert result["report"].source_urls == ["https://example.org"]


def test_an_output_without_text_is_shown_by_its_summary(run: Run) -> None:
    report = answer_report("x").model_copy(update={"outputs": [{"rows": 3}], "summary": "3 rows"})
    assert run(create_recursive_solver(solver=lambda: report), "w")["output"] == "3 rows"


def test_a_function_that_returns_an_empty_text_means_it(run: Run) -> None:
    result = run(create_recursive_solver(solver=lambda: ""), "w")
    assert (result["success"], result["output"], result["messages"][-1].content) == (True, "", "(empty answer)")


# Retries of the call, and output that is asked for again.


def test_a_transient_error_is_retried_without_repeating_siblings_calls(run: Run) -> None:
    solver = Solver(lambda task: flaky(task))
    failed: list[str] = []

    def flaky(task: Task) -> str:
        if task.id == "t.1" and len(failed) < 2:
            failed.append(task.id)
            raise ConnectionError("reset")
        return "x"

    graph = create_recursive_solver(
        solver=solver,
        decomposer=split({"w": ["a", "b", "c"]}),
        aggregator=lambda: "y",
        policy=SolvePolicy(retry=QUICK),
    )
    result = run(graph, "w")
    assert result["success"]
    assert sorted(solver.ids) == ["t.1"] * 3 + ["t.2", "t.3"]
    # Every try is counted: decomposer 1 + 3, solver 5, aggregator 1.
    assert result["usage"].calls == 10


def test_a_transient_error_that_stays_is_task_failed_after_three_tries(run: Run) -> None:
    solver = Solver(lambda task: transient())

    def transient() -> str:
        raise TimeoutError("slow provider")

    result = run(create_recursive_solver(solver=solver, policy=SolvePolicy(retry=QUICK)), "w")
    assert len(solver.tasks) == 3
    assert (result["halt"].type, result["halt"].error_type) == ("task_failed", "TimeoutError")


def test_a_second_try_waits(run: Run) -> None:
    times: list[float] = []

    def solver(task: Task) -> str:
        times.append(time.monotonic())
        raise ConnectionError

    policy = SolvePolicy(retry=QUICK._replace(initial_interval=0.1, max_attempts=2))
    run(create_recursive_solver(solver=solver, policy=policy), "w")
    assert times[1] - times[0] >= 0.1


def test_another_error_is_not_retried(run: Run) -> None:
    solver = Solver(lambda task: 1 // 0)
    assert run(create_recursive_solver(solver=solver), "w")["halt"].error_type == "ZeroDivisionError"
    assert len(solver.tasks) == 1


def test_retry_none_tries_once_and_a_policy_of_ones_own_is_kept_to(run: Run) -> None:
    def solver(task: Task) -> str:
        calls.append(1)
        raise KeyError("x")

    calls: list[int] = []
    run(create_recursive_solver(solver=solver, policy=SolvePolicy(retry=None)), "w")
    assert len(calls) == 1
    own = RetryPolicy(initial_interval=0.01, max_attempts=5, jitter=False, retry_on=KeyError)
    calls.clear()
    run(create_recursive_solver(solver=solver, policy=SolvePolicy(retry=own)), "w")
    assert len(calls) == 5


def test_a_validators_transient_error_is_retried_too(run: Run) -> None:
    tries: list[int] = []

    def judge() -> bool:
        tries.append(1)
        if len(tries) < 2:
            raise ConnectionError
        return True

    solver = Solver()
    assert run(create_recursive_solver(solver=solver, verifiers=[judge], policy=SolvePolicy(retry=QUICK)), "w")[
        "verified"
    ]
    assert len(solver.tasks) == 1


def test_unparsable_output_is_asked_for_again_at_most_twice_then_protocol_error_with_the_raw_text(run: Run) -> None:
    complaints: list[str | None] = []

    def solver(task: Task, complaint: str | None = None) -> str:
        complaints.append(complaint)
        raise UnparsableOutputError("no JSON", value="raw {" + "x" * 9_000)

    result = run(create_recursive_solver(solver=solver), "w")
    assert complaints == [None, "no JSON", "no JSON"]
    assert (result["halt"].type, result["report"].outcome) == ("protocol_error", "protocol_error")
    raw = result["report"].evidence[0]["raw"]
    assert raw.startswith("raw {")
    assert len(raw) < 2_200
    assert [attempt.id for attempt in result["attempts"]] == ["t"]


def test_a_models_empty_answer_is_asked_for_again(run: Run) -> None:
    model = ScriptedChatModel(answers=["", " ", "filled"])
    assert run(create_recursive_solver(solver=model), "w")["output"] == "filled"
    assert "could not be used" in model.calls[1].text


def test_asking_again_is_not_an_attempt(run: Run) -> None:
    model = ScriptedChatModel(answers=["", "filled"])
    result = run(create_recursive_solver(solver=model, verifiers=[lambda: True]), "w")
    assert [attempt.id for attempt in result["attempts"]] == ["t"]
    assert kinds(result) == ["SOLVED", "VERIFIED"]


def test_repeats_share_one_deadline(run: Run) -> None:
    asked: list[int] = []

    def solver(task: Task) -> str:
        asked.append(1)
        time.sleep(0.12)
        raise UnparsableOutputError("no JSON", value="x")

    result = run(create_recursive_solver(solver=solver, policy=SolvePolicy(call_timeout=0.2)), "w")
    # With a deadline each, three answers would have come, and made it a protocol_error.
    assert len(asked) <= 2
    assert result["halt"].error_type == "CallTimeoutError"


def test_a_validator_is_not_asked_again(run: Run) -> None:
    judge = ScriptedChatModel(answers=["perhaps"])
    result = run(create_recursive_solver(solver=Solver(), verifiers=[judge]), "w")
    assert result["halt"].type == "validator_error"
    assert len(judge.calls) == 1


def test_several_validators_have_distinct_names(run: Run) -> None:
    result = run(create_recursive_solver(solver=Solver(), verifiers=[lambda: True, lambda: False]), "w")
    assert [check.validator_id for check in result["verdict"].checks] == ["verifier", "verifier#2"]
