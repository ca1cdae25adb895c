"""Reading context references: granted, accounted, and seen by validators as far as it was really read."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore

from context_kit import CONFIG, OWNER, REF, TEXT, granted, read_call, snapshots, state_of
from engine_kit import split
from langgraph_recursive.graph import SolvePolicy, create_recursive_solver
from langgraph_recursive.nodes import ContextStore, aread_context, llm_solver, read_context
from langgraph_recursive.nodes.parts.context_reader import read_context_ref
from langgraph_recursive.state import ContextReadError, ContextRef, Owner, Task
from langgraph_recursive.state._model import sha256
from langgraph_recursive.state.context_reads import ContextRead
from scripted import ScriptedChatModel, tool_call
from validation_kit import brief, decide

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def contexts() -> ContextStore:
    return snapshots()


def reading(contexts: ContextStore, solve: Any, **policy: Any) -> Any:
    return create_recursive_solver(
        solver=solve,
        context_store=contexts,
        checkpointer=InMemorySaver(),
        policy=SolvePolicy(**{"max_attempts": 1, **policy}),
    )


def detail(result: dict[str, Any]) -> str:
    return str(result["halt"].detail if result["halt"] else "")


def test_a_function_reads_what_it_was_granted(run: Run, contexts: ContextStore) -> None:
    solver = reading(contexts, lambda task: read_context(task, REF, offset=10, limit=9))
    assert run(solver, granted(), CONFIG)["output"] == "line 0001"
    [read] = state_of(solver).context_reads
    expected = ContextRead(
        id=read.id, ref_id="notes", version="1", offset=10, chars=9, sha256=sha256("line 0001"), attempt=1
    )
    assert read == expected


def test_an_async_function_reads_on_its_event_loop(run: Run, contexts: ContextStore) -> None:
    async def solve(task: Task) -> str:
        return await aread_context(task, task.brief.context_refs[0])

    solver = reading(contexts, solve)
    assert run(solver, granted(), CONFIG)["output"] == TEXT
    assert [read.chars for read in state_of(solver).context_reads] == [1_000]


@pytest.mark.parametrize("forged", ["../../etc/passwd", "other", "notes@1"])
def test_what_was_not_granted_is_refused_and_the_grants_are_named(
    run: Run, contexts: ContextStore, forged: str
) -> None:
    solver = reading(contexts, lambda task: read_context(task, ContextRef(ref_id=forged, version="1")))
    result = run(solver, granted(), CONFIG)
    assert "was not granted to task t; granted are: notes@1" in detail(result)
    assert result["halt"].error_type == "ContextReadError"


def test_another_version_is_not_granted(run: Run, contexts: ContextStore) -> None:
    contexts.put("newer", owner=OWNER, ref_id="notes", version="2")
    solver = reading(contexts, lambda task: read_context(task, ContextRef(ref_id="notes", version="2")))
    assert "was not granted" in detail(run(solver, granted(), CONFIG))


def test_a_component_cannot_widen_its_own_grants(run: Run, contexts: ContextStore) -> None:
    other = contexts.put("secret", owner=OWNER, ref_id="other")

    def solve(task: Task) -> str:
        forged = task.model_copy(update={"brief": granted(REF, other)})
        return read_context(forged, other)

    assert "was not granted" in detail(run(reading(contexts, solve), granted(), CONFIG))


def test_only_the_task_at_work_reads(run: Run, contexts: ContextStore) -> None:
    solver = reading(contexts, lambda task: read_context(task.model_copy(update={"id": "t.9"}), REF))
    assert "t.9 is not at work here" in detail(run(solver, granted(), CONFIG))


@pytest.mark.parametrize(
    "owner", [Owner.of_thread("elsewhere", user_id="ann"), Owner.of_thread("thread", user_id="bob")]
)
def test_a_granted_snapshot_of_another_root_or_user_is_unknown(run: Run, contexts: ContextStore, owner: Owner) -> None:
    theirs = contexts.put("secret", owner=owner, ref_id="theirs")
    solver = reading(contexts, lambda task: read_context(task, theirs))
    assert "theirs@1 is unknown" in detail(run(solver, granted(theirs), CONFIG))


def test_outside_a_run_nothing_is_read() -> None:
    with pytest.raises(ContextReadError, match="inside a component"):
        read_context_ref.invoke({"ref_id": "notes", "version": "1"})


def test_without_a_store_nothing_is_read(run: Run) -> None:
    solver = create_recursive_solver(solver=lambda task: read_context(task, REF), policy=SolvePolicy(max_attempts=1))
    assert "no context_store" in detail(run(solver, granted(), CONFIG))


def test_the_store_of_the_graph_that_it_runs_in_serves_too(run: Run) -> None:
    store = InMemoryStore()
    ContextStore(store).put(TEXT, owner=OWNER, ref_id="notes")
    solver = create_recursive_solver(solver=lambda task: read_context(task, REF))
    host: Any = StateGraph(cast(Any, dict))
    host.add_node("read", lambda state: {"found": solver.invoke(granted())["output"]})
    host.add_edge(START, "read")
    graph = host.compile(store=store, checkpointer=InMemorySaver())
    assert run(graph, {"x": 1}, CONFIG)["found"] == TEXT


def test_the_graphs_store_serves_without_a_context_store(run: Run) -> None:
    store = InMemoryStore()
    ref = ContextStore(store).put("kept", owner=OWNER)
    solver = create_recursive_solver(solver=lambda task: read_context(task, ref), store=store)
    assert run(solver, granted(ref), CONFIG)["output"] == "kept"


@pytest.mark.parametrize(("offset", "limit"), [(-1, 5), (0, 0), (1_000, 1)])
def test_a_page_lies_within_the_snapshot(run: Run, contexts: ContextStore, offset: int, limit: int) -> None:
    solver = reading(contexts, lambda task: read_context(task, REF, offset=offset, limit=limit))
    assert "offset" in detail(run(solver, granted(), CONFIG))
    assert state_of(solver).context_reads == []


def test_the_allowance_is_exact_to_the_character(run: Run, contexts: ContextStore) -> None:
    def solve(task: Task) -> str:
        first = read_context(task, REF, limit=600)
        with pytest.raises(ContextReadError, match=r"401 characters are over .* 400 of 1000 are left"):
            read_context(task, REF, offset=599)
        return first + read_context(task, REF, offset=600)

    solver = reading(contexts, solve, max_context_chars=1_000)
    assert run(solver, granted(), CONFIG)["output"] == TEXT
    assert [read.chars for read in state_of(solver).context_reads] == [600, 400]


def test_an_allowance_of_0_allows_nothing(run: Run, contexts: ContextStore) -> None:
    solver = reading(contexts, lambda task: read_context(task, REF, limit=1), max_context_chars=0)
    assert "0 of 0 are left" in detail(run(solver, granted(), CONFIG))


def test_a_text_read_twice_counts_twice(run: Run, contexts: ContextStore) -> None:
    solver = reading(contexts, lambda task: read_context(task, REF) + read_context(task, REF), max_context_chars=1_999)
    assert "999 of 1999 are left" in detail(run(solver, granted(), CONFIG))


def test_parallel_reads_never_pass_the_allowance_together(run: Run, contexts: ContextStore) -> None:
    def page(task: Task, number: int) -> bool:
        try:
            return len(read_context(task, REF, offset=number * 10, limit=10)) == 10
        except ContextReadError:
            return False

    def solve(task: Task) -> str:
        with ThreadPoolExecutor(16) as pool:
            jobs = [pool.submit(contextvars.copy_context().run, page, task, number % 100) for number in range(160)]
        return str(sum(job.result() for job in jobs))

    solver = reading(contexts, solve, max_context_chars=333)
    assert run(solver, granted(), CONFIG)["output"] == "33"
    assert sum(read.chars for read in state_of(solver).context_reads) == 330


def test_the_allowance_is_each_tasks_own(run: Run, contexts: ContextStore) -> None:
    solver = create_recursive_solver(
        solver=lambda task: read_context(task, REF),
        decomposer=split({"use the notes": [granted(objective="one"), granted(objective="two")]}),
        aggregator=lambda task, results: read_context(task, REF),
        context_store=contexts,
        checkpointer=InMemorySaver(),
        policy=SolvePolicy(max_context_chars=1_000),
    )
    assert run(solver, granted(), CONFIG)["output"] == TEXT
    state = state_of(solver)
    assert sum(read.chars for read in state.context_reads) == 1_000


def test_all_attempts_of_a_task_share_its_allowance(run: Run, contexts: ContextStore) -> None:
    solver = create_recursive_solver(
        solver=lambda task: read_context(task, REF, limit=600),
        verifiers=[lambda task, result, attempt: attempt > 1],
        context_store=contexts,
        checkpointer=InMemorySaver(),
        policy=SolvePolicy(max_context_chars=1_000),
    )
    assert "400 of 1000 are left" in detail(run(solver, granted(), CONFIG))


def test_a_new_run_on_the_thread_has_a_new_allowance(run: Run, contexts: ContextStore) -> None:
    solver = reading(contexts, lambda task: read_context(task, REF), max_context_chars=1_000)
    for _ in range(2):
        assert run(solver, granted(), CONFIG)["success"]
        assert len(state_of(solver).context_reads) == 1


def test_verifiers_read_nothing_themselves(run: Run, contexts: ContextStore) -> None:
    solver = create_recursive_solver(
        solver=lambda task: "x",
        verifiers=[lambda task, result, attempt: bool(read_context(task, REF))],
        context_store=contexts,
    )
    result = run(solver, granted(), CONFIG)
    assert result["halt"].type == "validator_error"
    assert "validators read no context references" in result["halt"].detail


def test_validators_see_what_was_read_and_nothing_else(run: Run, contexts: ContextStore) -> None:
    unread = contexts.put("never opened", owner=OWNER, ref_id="unread")
    model = ScriptedChatModel(answers=lambda messages: decide(messages))
    solver = create_recursive_solver(
        solver=lambda task: read_context(task, REF, offset=20, limit=9) and "done",
        context_store=contexts,
        validator_model=model,
        checkpointer=InMemorySaver(),
    )
    assert run(solver, granted(REF, unread), CONFIG)["success"]
    [call] = model.calls
    assert "line 0002" in call.text
    assert 'kind="context_read" source="notes_1_20-29"' in call.text
    assert "line 0001" not in call.text
    assert "line 0003" not in call.text
    assert "never opened" not in call.text


def test_validators_of_a_fix_do_not_see_what_an_earlier_attempt_read(run: Run, contexts: ContextStore) -> None:
    model = ScriptedChatModel(answers=lambda messages: decide(messages))
    solver = create_recursive_solver(
        solver=lambda task: read_context(task, REF, offset=10 * task.attempt, limit=9) and "done",
        verifiers=[lambda task, result, attempt: attempt > 1],
        context_store=contexts,
        validator_model=model,
    )
    assert run(solver, granted(), CONFIG)["success"]
    [call] = model.calls
    assert "line 0002" in call.text
    assert "line 0001" not in call.text


def test_a_model_is_offered_the_tool_only_where_something_was_granted(run: Run, contexts: ContextStore) -> None:
    model = ScriptedChatModel(answers=["done", "done"], tools=True)
    solver = create_recursive_solver(solver=llm_solver(model), context_store=contexts)
    run(solver, granted(), CONFIG)
    run(solver, brief("use nothing"), CONFIG)
    assert [call.tools for call in model.calls] == [["read_context_ref"], []]
    assert "- ref_id notes, version 1" in model.calls[0].text
    assert "read_context_ref" not in model.calls[1].text


def test_a_model_without_a_store_is_not_offered_it(run: Run) -> None:
    model = ScriptedChatModel(answers=["done"], tools=True)
    run(create_recursive_solver(solver=llm_solver(model)), granted(), CONFIG)
    assert model.calls[0].tools == []


def test_a_model_that_cannot_call_tools_answers_without(run: Run, contexts: ContextStore) -> None:
    model = ScriptedChatModel(answers=["done"])
    result = run(create_recursive_solver(solver=llm_solver(model), context_store=contexts), granted(), CONFIG)
    assert result["output"] == "done"
    assert "read_context_ref" not in model.calls[0].text


def test_a_model_reads_page_by_page_and_its_own_tools_stay(run: Run, contexts: ContextStore) -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    model = ScriptedChatModel(
        answers=[read_call(limit=10), read_call("call_2", offset=10, limit=10), "done"], tools=True
    )
    solver = reading(contexts, llm_solver(model, tools=[add]))
    assert run(solver, granted(), CONFIG)["output"] == "done"
    assert model.calls[0].tools == ["add", "read_context_ref"]
    shown = model.calls[-1].text
    assert "Characters 0 to 10 of 1000; go on at offset 10. 49990 may still be read." in shown
    assert '<quoted context="notes_1">\nline 0001\n' in shown
    assert [(read.offset, read.chars) for read in state_of(solver).context_reads] == [(0, 10), (10, 10)]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"ref_id": "../../etc/passwd"}, "was not granted"),
        ({"version": "2"}, "was not granted"),
        ({"ref_id": "gone"}, "is unknown"),
        ({"limit": 101}, "over the task's allowance: 100 of 100 are left"),
        ({"limit": 20_001}, "less than or equal to 20000"),
        ({"offset": -1}, "greater than or equal to 0"),
        ({"offset": 1_000}, "behind its end"),
    ],
)
def test_the_tool_says_what_is_wrong_and_the_model_goes_on(
    run: Run, contexts: ContextStore, args: dict[str, Any], error: str
) -> None:
    model = ScriptedChatModel(answers=[read_call(**args), "done"], tools=True)
    solver = reading(contexts, llm_solver(model), max_context_chars=100)
    assert run(solver, granted(REF, ContextRef(ref_id="gone", version="1")), CONFIG)["success"]
    assert error in model.calls[-1].text
    assert state_of(solver).context_reads == []


def test_a_huge_snapshot_comes_in_bounded_pages(run: Run, contexts: ContextStore) -> None:
    huge = contexts.put("x" * 1_000_000, owner=OWNER, ref_id="huge")
    model = ScriptedChatModel(answers=[read_call(ref_id="huge"), "done"], tools=True)
    assert run(reading(contexts, llm_solver(model)), granted(huge), CONFIG)["success"]
    assert len(model.calls[-1].text) < 8_000


def test_parallel_tool_calls_share_the_allowance(run: Run, contexts: ContextStore) -> None:
    calls = [
        {"name": "read_context_ref", "args": {"ref_id": "notes", "version": "1", "limit": 40}, "id": f"c{number}"}
        for number in range(5)
    ]
    message = tool_call("x").model_copy(update={"tool_calls": [{**call, "type": "tool_call"} for call in calls]})
    model = ScriptedChatModel(answers=[message, "done"], tools=True)
    solver = reading(contexts, llm_solver(model), max_context_chars=100)
    assert run(solver, granted(), CONFIG)["success"]
    assert model.calls[-1].text.count("over the task's allowance") == 3
    assert sum(read.chars for read in state_of(solver).context_reads) == 80
