"""After a crash the same plan reuses what was finished; any other plan validates everything again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.errors import ComponentError
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.validation_policy import ValidationCheckSpec, ValidationPolicy
from langgraph_recursive.state.verdict import Verdict, accept, reject
from scripted import ScriptedChatModel, tool_call
from validation_kit import ANCHOR, Job, Session, decide, opened

Run = Callable[..., dict[str, Any]]

CONFIG = {"configurable": {"thread_id": "1"}}


def test_the_same_plan_reuses_the_finished_scopes(run: Run) -> None:
    job = Job()
    job.killed(run, CONFIG)
    assert run(job.build(), None, CONFIG)["verified"]
    assert job.calls == {"task": 1, "root": 1, "check t": 1}


def test_the_same_plan_reuses_a_finished_verifier_before_the_gate(run: Run) -> None:
    job = Job(dies_in="root")
    job.killed(run, CONFIG)
    assert run(job.build(), None, CONFIG)["verified"]
    assert job.calls == {"root": 1}


def another_check(task: Task) -> Verdict:
    return accept()


CHANGES: dict[str, dict[str, Any]] = {
    "another model": {"name": "two"},
    "another policy": {
        "validation_policy": ValidationPolicy(
            scopes=["hypothesis", "output"],
            checks=[ValidationCheckSpec(check_id="tone", scope="task", criterion="polite")],
        )
    },
    "another tool policy": {"validator_tools": lambda report: Session()},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_plan_validates_every_scope_again(run: Run, change: str) -> None:
    job = Job()
    job.killed(run, CONFIG)
    assert run(job.build(**CHANGES[change]), None, CONFIG)["verified"]
    wanted = {"hypothesis": 1, "output": 1, "task": 1, "check t.1": 1, "check t": 1, "root": 1}
    assert job.calls == wanted


def test_another_set_of_verifiers_validates_every_scope_again(run: Run) -> None:
    job = Job()
    job.killed(run, CONFIG)
    assert run(job.build(verifiers=[job.check, another_check]), None, CONFIG)["verified"]
    assert job.calls == {"hypothesis": 1, "output": 1, "task": 1, "check t.1": 1, "check t": 1, "root": 1}


def rule(least: int) -> Callable[..., Verdict]:
    """A verifier as a new process makes it."""
    return lambda task, result: accept() if len(result) >= least else reject("too short")


def test_a_verifier_whose_code_or_settings_changed_is_asked_again(run: Run) -> None:
    """Both answers are of one character: what the old rule let pass, the new one does not."""
    job = Job()
    job.killed(run, CONFIG, verifiers=[rule(1)])
    result = run(job.build(verifiers=[rule(2)], policy=SolvePolicy(max_attempts=1)), None, CONFIG)
    assert not result["success"]
    assert result["halt"].child.type == "recovery_exhausted"


def test_an_unchanged_verifier_is_not_asked_again(run: Run) -> None:
    job = Job()
    job.killed(run, CONFIG, verifiers=[rule(1), job.check])
    assert run(job.build(verifiers=[rule(1), job.check]), None, CONFIG)["verified"]
    assert job.calls == {"task": 1, "root": 1, "check t": 1}


def test_an_opened_source_is_known_again_after_a_crash(run: Run) -> None:
    """The session of the new process never opened it: what the stored calls recorded counts."""
    saver, sessions, died = InMemorySaver(), list[Session](), [True]

    def answer(messages: list[BaseMessage]) -> Any:
        if messages[-1].type != "tool":
            return tool_call("open_page", name="orders")
        if died.pop() if died else False:
            raise ComponentError("the process died")
        return decide(messages, evidence_refs=["s1"])

    def build() -> Any:
        return create_recursive_solver(
            solver=lambda task: "7",
            root_validator_model=ScriptedChatModel(answers=answer, tools=True),
            validator_tools=lambda report: opened(sessions),
            checkpointer=saver,
        )

    with pytest.raises(ComponentError, match="died"):
        run(build(), ANCHOR, CONFIG)
    result = run(build(), None, CONFIG)
    assert result["verified"]
    assert result["verdict"].checks[0].evidence_refs == ["s1"]
    assert sum(session.calls for session in sessions) == 1


def test_a_stored_verdict_of_another_task_is_an_error(run: Run) -> None:
    """A mixed-up checkpoint: the record is there under the right name and was made under another token."""
    job = Job()
    job.killed(run, CONFIG)
    tampered = 0
    for writes in job.saver.writes.values():
        for key, (task_id, channel, value, path) in list(writes.items()):
            record = job.saver.serde.loads_typed(value)
            if channel == "__return__" and isinstance(record, dict) and "token" in record:
                writes[key] = (task_id, channel, job.saver.serde.dumps_typed({**record, "token": "of another"}), path)
                tampered += 1
    assert tampered
    result = run(job.build(), None, CONFIG)
    assert not result["success"]
    assert result["halt"].child.type == "validator_error"
    assert "belongs to another task, attempt or plan" in result["halt"].child.detail
