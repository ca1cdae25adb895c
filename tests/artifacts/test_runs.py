"""Artifacts of a run: resolved before a report is validated, whose they are fixed at the root."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from langgraph.types import RetryPolicy

from engine_kit import Solver, split
from langgraph_recursive.graph import Budget, SolvePolicy, create_recursive_solver
from langgraph_recursive.nodes import ContextStore, StoreArtifacts, aread_context
from langgraph_recursive.state import (
    ArtifactRef,
    ChangedUserError,
    ComponentError,
    Owner,
    ResolvedArtifact,
    Task,
    TaskReport,
    Validation,
)
from langgraph_recursive.state.artifacts import ARTIFACTS, content_hash
from langgraph_recursive.state.channels import SolverInput
from scripted import ScriptedChatModel
from validation_kit import asked, brief, decide

Run = Callable[..., dict[str, Any]]
CONFIG: Any = {"configurable": {"thread_id": "thread", "user_id": "ann"}}
ONE_TRY = SolvePolicy(max_attempts=1)


def reporting(*refs: ArtifactRef) -> TaskReport:
    return TaskReport(
        summary="made",
        outcome="satisfied",
        validation=Validation(hard_passed=True),
        outputs=[{"text": "made"}],
        artifact_refs=list(refs),
    )


def ref(content: bytes | str = "x", **fields: str) -> ArtifactRef:
    given = {"artifact_id": "a", "version": "1", "kind": "note", "mime_type": "text/plain"}
    return ArtifactRef(**{**given, "content_hash": content_hash(content), **fields})


class Resolver:
    """Answers with a function, and remembers who asked for what."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, str]] = []

    def resolve(self, ref: ArtifactRef, *, root: str, user_id: str) -> Any:
        self.asked.append((ref.artifact_id, root, user_id))
        return self.answer(ref, root, user_id)


class AsyncResolver(Resolver):
    async def resolve(self, ref: ArtifactRef, *, root: str, user_id: str) -> Any:
        return super().resolve(ref, root=root, user_id=user_id)


def holding(content: bytes | str = "x", **fields: str) -> Callable[..., ResolvedArtifact]:
    def answer(ref: ArtifactRef, root: str, user_id: str) -> ResolvedArtifact:
        given = {"content_hash": content_hash(content), "root": root, "user_id": user_id}
        return ResolvedArtifact(content=content, **{**given, **fields})

    return answer


def down(*args: Any) -> Any:
    raise OSError("disk on fire")


def outcome(result: dict[str, Any]) -> tuple[str, str | None]:
    return result["verdict"].outcome, result["halt"].type if result["halt"] else None


def test_what_a_solver_puts_is_found_and_checked(run: Run) -> None:
    artifacts = StoreArtifacts(InMemoryStore())
    solver = create_recursive_solver(
        solver=lambda task: reporting(artifacts.put("x", owner=task.owner, kind="note")), artifact_resolver=artifacts
    )
    result = run(solver, "write", CONFIG)
    assert result["success"]
    assert [check.check_id.partition(":")[0] for check in result["verdict"].checks] == ["artifact"]


def test_an_artifact_alone_makes_no_answer_verified(run: Run) -> None:
    result = run(
        create_recursive_solver(solver=lambda task: reporting(ref()), artifact_resolver=Resolver(holding())), "write"
    )
    assert (result["success"], result["verified"]) == (True, False)


@pytest.mark.parametrize("kind", [Resolver, AsyncResolver])
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (holding(), ("passed", None)),
        (lambda *asked: None, ("failed", "recovery_exhausted")),
        (holding("other"), ("failed", "recovery_exhausted")),
        (holding("other", content_hash=content_hash("x")), ("failed", "recovery_exhausted")),
        (down, ("unknown", "recovery_exhausted")),
        (holding(root="other/t"), ("error", "validator_error")),
        (holding(user_id="bob"), ("error", "validator_error")),
        (lambda *asked: "x", ("error", "validator_error")),
    ],
    ids=["found", "missing", "changed", "lying", "down", "other root", "other user", "forged answer"],
)
def test_what_the_resolver_says_decides(
    run: Run, kind: type[Resolver], answer: Callable[..., Any], expected: tuple[str, str | None]
) -> None:
    solver = create_recursive_solver(
        solver=lambda task: reporting(ref()), artifact_resolver=kind(answer), policy=ONE_TRY
    )
    assert outcome(run(solver, "write", CONFIG)) == expected


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "c:\\secret", "a..b"])
def test_a_path_never_reaches_the_resolver(run: Run, name: str) -> None:
    resolver = Resolver(holding())
    solver = create_recursive_solver(
        solver=lambda task: reporting(ref(artifact_id=name)), artifact_resolver=resolver, policy=ONE_TRY
    )
    assert outcome(run(solver, "write", CONFIG)) == ("error", "validator_error")
    assert resolver.asked == []


def test_one_name_with_two_hashes_is_forged(run: Run) -> None:
    resolver = Resolver(holding())
    solver = create_recursive_solver(
        solver=lambda task: reporting(ref("x"), ref("y")), artifact_resolver=resolver, policy=ONE_TRY
    )
    assert outcome(run(solver, "write"))[0] == "error"
    assert resolver.asked == []


def test_too_many_artifacts_are_an_error_and_none_is_resolved(run: Run) -> None:
    resolver = Resolver(holding())
    refs = [ref(artifact_id=f"a{number}") for number in range(ARTIFACTS + 1)]
    solver = create_recursive_solver(solver=lambda task: reporting(*refs), artifact_resolver=resolver, policy=ONE_TRY)
    assert outcome(run(solver, "write"))[0] == "error"
    assert resolver.asked == []


def test_without_a_resolver_no_artifact_can_be_told(run: Run) -> None:
    result = run(create_recursive_solver(solver=lambda task: reporting(ref()), policy=ONE_TRY), "write")
    assert result["verdict"].outcome == "unknown"
    assert "artifact_resolver" in result["verdict"].issues[0]


def test_a_resolver_without_resolve_is_refused() -> None:
    with pytest.raises(ComponentError, match="resolve"):
        create_recursive_solver(solver=lambda task: "x", artifact_resolver=object())  # type: ignore[arg-type]  # so


def test_an_artifact_of_another_thread_or_user_is_an_error(run: Run) -> None:
    artifacts = StoreArtifacts(InMemoryStore())
    for owner in (Owner.of_thread("elsewhere", user_id="ann"), Owner.of_thread("thread", user_id="bob")):
        stolen = artifacts.put("x", owner=owner, kind="note")
        solver = create_recursive_solver(
            solver=lambda task, stolen=stolen: reporting(stolen), artifact_resolver=artifacts, policy=ONE_TRY
        )
        assert outcome(run(solver, "write", CONFIG)) == ("error", "validator_error")


def test_the_resolver_is_asked_for_the_roots_tree_and_user_at_every_depth(run: Run) -> None:
    resolver = Resolver(holding())
    solver = create_recursive_solver(
        solver=lambda task: reporting(ref()),
        decomposer=split({"write": ["one", "two"]}),
        artifact_resolver=resolver,
        checkpointer=InMemorySaver(),
    )
    assert run(solver, "write", CONFIG)["success"]
    assert set(resolver.asked) == {("a", "thread/t", "ann")}
    assert len(resolver.asked) == 3


def test_the_runtime_context_names_the_user_before_the_config_does(run: Run) -> None:
    @dataclasses.dataclass
    class Ctx:
        user_id: str

    seen = Solver()
    solver = create_recursive_solver(solver=seen)
    run(solver, "write", CONFIG, context={"user_id": "carol"})
    run(solver, "write", CONFIG, context=Ctx("dora"))
    assert [task.owner for task in seen.tasks] == [
        Owner(root="thread/t", user_id="carol"),
        Owner(root="thread/t", user_id="dora"),
    ]


def test_an_embedded_solver_belongs_to_its_hosts_user(run: Run) -> None:
    seen = Solver()
    host = StateGraph(SolverInput).add_node("solve", create_recursive_solver(solver=seen) | (lambda out: {}))
    compiled = host.add_edge(START, "solve").add_edge("solve", END).compile()
    run(compiled, {"task": "write"}, CONFIG, context={"user_id": "carol"})
    assert seen.tasks[0].owner == Owner(root="thread/t", user_id="carol")


def test_without_a_thread_each_run_has_a_root_of_its_own(run: Run) -> None:
    seen = Solver()
    solver = create_recursive_solver(solver=seen)
    run(solver, "write")
    run(solver, "write")
    one, other = (task.owner for task in seen.tasks)
    assert one is not None
    assert other is not None
    assert one.root != other.root


def test_an_input_cannot_say_whose_it_is(run: Run) -> None:
    seen = Solver()
    task = {"id": "t", "spec": "write", "brief": brief().model_dump(), "owner": {"root": "other/t", "user_id": "bob"}}
    given = Task.model_validate(task)
    for forged in (given, task):
        run(create_recursive_solver(solver=seen), {"task": forged}, CONFIG)
        assert seen.tasks[-1].owner == Owner(root="thread/t", user_id="ann")


def test_a_run_goes_on_only_under_the_user_it_was_started_by(run: Run) -> None:
    failing = [True]

    def verifier(task: Task, result: str, attempt: int) -> bool:
        if failing:
            raise KeyboardInterrupt
        return True

    artifacts = StoreArtifacts(InMemoryStore())
    solver = create_recursive_solver(
        solver=lambda task: reporting(artifacts.put("x", owner=task.owner, kind="note")),
        verifiers=[verifier],
        artifact_resolver=artifacts,
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(KeyboardInterrupt):
        run(solver, "write", CONFIG)
    failing.clear()
    with pytest.raises(ChangedUserError):
        run(solver, None, {"configurable": {"thread_id": "thread", "user_id": "bob"}})
    assert run(solver, None, CONFIG)["success"]


def test_a_validator_reads_the_artifact_whole_and_fenced(run: Run) -> None:
    model = ScriptedChatModel(answers=lambda messages: decide(messages))
    solver = create_recursive_solver(
        solver=lambda task: reporting(ref("the numbers </quoted>")),
        artifact_resolver=Resolver(holding("the numbers </quoted>")),
        validator_model=model,
    )
    assert run(solver, "write", CONFIG)["verified"]
    [call] = model.calls
    assert "# Artifact a@1" in call.text
    assert "the numbers <\\/quoted>" in call.text


def test_an_artifact_too_large_to_be_read_is_never_passed(run: Run) -> None:
    huge = "x" * 60_000
    model = ScriptedChatModel(answers=lambda messages: decide(messages))
    solver = create_recursive_solver(
        solver=lambda task: reporting(ref(huge)),
        artifact_resolver=Resolver(holding(huge)),
        validator_model=model,
        policy=ONE_TRY,
    )
    assert run(solver, "write", CONFIG)["verdict"].outcome == "unknown"
    assert model.calls == []


def test_changed_bytes_are_seen_after_a_kill_and_unchanged_ones_cost_no_call(run: Run) -> None:
    content = ["x"]
    dying = threading.Event()

    def validator(messages: Any) -> Any:
        if asked(messages)[0] == "task" and not dying.is_set():
            dying.set()
            raise KeyboardInterrupt
        return decide(messages)

    def start() -> Any:
        dying.clear()
        model = ScriptedChatModel(answers=validator)
        solver = create_recursive_solver(
            solver=lambda task: reporting(ref()),
            decomposer=split({"write": [brief("one", validation_scopes=["output"])]}),
            artifact_resolver=Resolver(lambda *given: holding(content[0])(*given)),
            validator_model=model,
            checkpointer=InMemorySaver(),
            policy=ONE_TRY,
        )
        with pytest.raises(KeyboardInterrupt):
            run(solver, "write", CONFIG)
        before = len(model.calls)
        return solver, model, before

    solver, model, before = start()
    assert run(solver, None, CONFIG)["success"]
    assert [asked(call.messages)[0] for call in model.calls[before:]] == ["task", "root"]

    solver, model, before = start()
    content[0] = "y"
    assert not run(solver, None, CONFIG)["success"]
    assert [asked(call.messages)[0] for call in model.calls[before:]] == ["output", "task"]


def test_a_resolver_that_hangs_is_unknown(run: Run) -> None:
    solver = create_recursive_solver(
        solver=lambda task: reporting(ref()),
        artifact_resolver=Resolver(lambda *asked: time.sleep(5)),
        policy=SolvePolicy(max_attempts=1, call_timeout=0.1),
    )
    assert run(solver, "write", CONFIG)["verdict"].outcome == "unknown"


def test_a_connection_that_comes_back_is_tried_again(run: Run) -> None:
    tries: list[int] = []

    def flaky(*given: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("lost")
        return holding()(*given)

    quick = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=ConnectionError)
    solver = create_recursive_solver(
        solver=lambda task: reporting(ref()), artifact_resolver=Resolver(flaky), policy=SolvePolicy(retry=quick)
    )
    assert run(solver, "write", CONFIG)["success"]
    assert len(tries) == 2


def test_resolving_is_no_model_call(run: Run) -> None:
    solver = create_recursive_solver(
        solver=lambda task: reporting(ref(), ref(artifact_id="b")),
        artifact_resolver=Resolver(holding()),
        policy=SolvePolicy(budget=Budget(max_llm_calls=1)),
    )
    result = run(solver, "write", CONFIG)
    assert result["success"]
    assert result["usage"].llm_calls == 1


def test_an_async_store_serves_an_async_run(tmp_path: Path) -> None:
    async def main() -> dict[str, Any]:
        async with AsyncSqliteStore.from_conn_string(str(tmp_path / "store.sqlite")) as store:
            await store.setup()
            artifacts, contexts = StoreArtifacts(store), ContextStore(store)
            owner = Owner.of_thread("thread", user_id="ann")
            notes = await contexts.aput("the notes", owner=owner)

            async def solve(task: Task) -> TaskReport:
                text = await aread_context(task, notes)
                return reporting(await artifacts.aput(text, owner=task.owner, kind="note"))

            model = ScriptedChatModel(answers=lambda messages: decide(messages))
            solver = create_recursive_solver(
                solver=solve, artifact_resolver=artifacts, context_store=contexts, validator_model=model
            )
            result = await solver.ainvoke(brief("write", context_refs=[notes]), CONFIG)
            assert model.calls[0].text.count("the notes") == 2
            return dict(result)

    assert asyncio.run(main())["verified"]
