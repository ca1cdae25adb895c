"""Grants: a reference is passed on only by a task that has it, whoever proposes the brief."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from context_kit import CONFIG, OWNER, REF, TEXT, granted, read_call, snapshots, state_of
from engine_kit import Solver, split
from langgraph_recursive.graph import SolvePolicy, create_recursive_solver
from langgraph_recursive.nodes import ContextStore, agent_parent, llm_decomposer, llm_reviewer, read_context
from langgraph_recursive.state import (
    ContextRef,
    NextStepSuggestion,
    ReviewDecision,
    SubTask,
    Task,
    TaskReview,
)
from langgraph_recursive.state.plan import faults_of
from langgraph_recursive.state.report import answer_report
from scripted import ScriptedChatModel, tool_call
from validation_kit import brief

Run = Callable[..., dict[str, Any]]
OTHER = ContextRef(ref_id="other", version="1")
NEWER = ContextRef(ref_id="notes", version="2")


@pytest.fixture
def contexts() -> ContextStore:
    made = snapshots()
    made.put("secret", owner=OWNER, ref_id="other")
    made.put("newer", owner=OWNER, ref_id="notes", version="2")
    return made


def parent(*refs: ContextRef) -> Task:
    given = granted(*refs) if refs else brief("use the notes")
    return Task(id="t", spec="s", brief=given)


def test_a_child_may_be_granted_what_its_parent_was() -> None:
    plan = [SubTask(granted(REF, objective="one")), SubTask("two")]
    assert faults_of(plan, parent(REF, OTHER), places=6) == []


@pytest.mark.parametrize("ref", [OTHER, NEWER, ContextRef(ref_id="../../etc/passwd", version="1")])
def test_a_plan_that_grants_more_is_faulty(ref: ContextRef) -> None:
    [fault] = faults_of([SubTask("one"), SubTask(granted(REF, ref, objective="two"))], parent(REF), places=6)
    assert fault == (f"sub-task 1 is given context_refs that this task was not granted: {ref.ref_id}@{ref.version}")


def test_nothing_granted_nothing_to_pass_on() -> None:
    assert faults_of([SubTask(granted(REF, objective="one"))], parent(), places=6)


def test_nothing_is_granted_by_itself(run: Run, contexts: ContextStore) -> None:
    solver = create_recursive_solver(
        solver=lambda task: str(len(task.brief.context_refs)),
        decomposer=split({"use the notes": ["one", granted(objective="two")]}),
        aggregator=lambda task, results: " ".join(results),
        context_store=contexts,
    )
    assert run(solver, granted(), CONFIG)["output"] == "0 1"


def test_a_child_reads_what_it_was_granted_and_its_sibling_does_not(run: Run, contexts: ContextStore) -> None:
    solver = create_recursive_solver(
        solver=lambda task: read_context(task, REF, limit=4),
        decomposer=split({"use the notes": [granted(objective="one"), "two"]}),
        aggregator=lambda task, results: " ".join(results),
        context_store=contexts,
        policy=SolvePolicy(on_child_failure="best_effort"),
    )
    result = run(solver, granted(), CONFIG)
    assert result["report"].missing == ["t.2"]
    assert result["output"] == "line"


def test_a_decomposer_is_told_and_asked_again(run: Run, contexts: ContextStore) -> None:
    complaints: list[str | None] = []

    def decomposer(task: Task, depth: int, complaint: str | None = None) -> list[Any]:
        complaints.append(complaint)
        return [granted(REF if complaint else OTHER, objective="one")] if depth == 0 else []

    solver = create_recursive_solver(solver=lambda task: task.id, decomposer=decomposer, context_store=contexts)
    run(solver, granted(), CONFIG)
    assert complaints[0] is None
    assert "not granted: other@1" in str(complaints[1])


def test_a_plan_refused_twice_is_solved_directly_with_nothing_widened(run: Run, contexts: ContextStore) -> None:
    seen = Solver()
    solver = create_recursive_solver(
        solver=seen,
        decomposer=split({"use the notes": [granted(OTHER, objective="one")]}),
        context_store=contexts,
    )
    assert run(solver, granted(), CONFIG)["output"] == "done"
    assert [(task.id, task.brief.context_refs) for task in seen.tasks] == [("t", [REF])]


def test_a_replan_grants_no_more(run: Run, contexts: ContextStore) -> None:
    asked: list[str | None] = []

    def decomposer(task: Task, depth: int, complaint: str | None = None) -> list[Any]:
        asked.append(complaint)
        refs = [REF] if len(asked) == 1 else [OTHER]
        return [granted(*refs, objective=f"part {len(asked)}")] if depth == 0 else []

    solver = create_recursive_solver(
        solver=lambda task: " ".join(ref.ref_id for ref in task.brief.context_refs),
        decomposer=decomposer,
        verifiers=[lambda task, result, attempt: task.parent_id is None],
        context_store=contexts,
        policy=SolvePolicy(on_child_failure="replan", max_depth=1, max_attempts=1),
    )
    assert run(solver, granted(), CONFIG)["output"] == "notes"
    assert "not granted: other@1" in str(asked[-1])


@pytest.mark.parametrize("decision", ["DESCEND_AGAIN", "REVISE_CHILD", "ACCEPT_REFINE"])
def test_a_review_grants_no_more_and_is_refused_with_the_reason(
    run: Run, contexts: ContextStore, decision: str
) -> None:
    wider = granted(OTHER, objective="more")
    suggestion = NextStepSuggestion(direction="DESCEND", suggested_next_task=wider, reason="r")
    approved = None if decision == "ACCEPT_REFINE" else wider.model_dump()
    answers = [
        {"decision": decision, "reason": "r", "approved_next_task": approved},
        {"decision": "ASCEND", "reason": "r"},
    ]
    model = ScriptedChatModel(answers=answers, structured=True)
    solver = create_recursive_solver(
        solver=lambda task: answer_report("x").model_copy(update={"next_step_suggestion": suggestion}),
        decomposer=split({"use the notes": [granted(objective="one")]}),
        aggregator=lambda task, results: "done",
        reviewer=llm_reviewer(model),
        context_store=contexts,
        checkpointer=InMemorySaver(),
    )
    assert run(solver, granted(), CONFIG)["output"] == "done"
    assert "not granted: other@1" in model.calls[1].text
    assert [child.id for child in state_of(solver).plan] == ["t.1"]


def test_a_review_can_approve_what_the_parent_was_granted(run: Run, contexts: ContextStore) -> None:
    def reviewer(report: Any, result: Any, ctx: Any) -> TaskReview:
        if len(ctx.pending) == 1 and ctx.child.id == "t.1":
            more = granted(objective="more")
            return TaskReview(decision=ReviewDecision.DESCEND_AGAIN, reason="r", approved_next_task=more)
        return TaskReview(decision=ReviewDecision.ASCEND, reason="r")

    solver = create_recursive_solver(
        solver=lambda task: read_context(task, REF, limit=4) if task.brief.context_refs else "none",
        decomposer=split({"use the notes": ["one"]}),
        aggregator=lambda task, results: " ".join(results),
        reviewer=reviewer,
        context_store=contexts,
    )
    assert run(solver, granted(), CONFIG)["output"] == "none line"


def _brief(objective: str, *refs: ContextRef) -> dict[str, Any]:
    return granted(*refs, objective=objective).model_dump(mode="json")


def _report(text: str) -> Any:
    fields: dict[str, Any] = {"summary": text, "outcome": "satisfied", "validation": {"hard_passed": True}}
    return tool_call("submit_task_report", outputs=[{"text": text}], **fields)


def test_a_playing_parent_reads_at_every_gate_and_cannot_widen(run: Run, contexts: ContextStore) -> None:
    judged = {"child_task_id": "t.1", "decision": "ASCEND", "reason": "r"}
    model = ScriptedChatModel(
        answers=[
            read_call("r1", limit=9),
            tool_call("agent", "a1", task_brief=_brief("one", OTHER)),
            tool_call("agent", "a2", task_brief=_brief("one", REF)),
            read_call("r2", offset=10, limit=9),
            tool_call("review_task_result", "j", **judged),
            read_call("r3", offset=20, limit=9),
            _report("done"),
        ],
        tools=True,
    )
    roles = {**agent_parent(model).roles(), "solver": lambda task: read_context(task, REF, limit=4)}
    solver = create_recursive_solver(
        **roles, context_store=contexts, checkpointer=InMemorySaver(), policy=SolvePolicy(max_depth=1)
    )
    assert run(solver, granted(), CONFIG)["output"] == "done"
    assert all("read_context_ref" in call.tools for call in model.calls)
    assert "- ref_id notes, version 1" in model.calls[0].text
    assert "not granted: other@1" in model.calls[2].text
    assert [read.offset for read in state_of(solver).context_reads] == [0, 10, 20]
    assert TEXT[20:29] in model.calls[-1].text


def test_a_playing_parent_without_grants_has_no_such_tool(run: Run, contexts: ContextStore) -> None:
    model = ScriptedChatModel(answers=[read_call(), _report("done")], tools=True)
    solver = create_recursive_solver(**agent_parent(model).roles(), context_store=contexts)
    assert run(solver, "use nothing", CONFIG)["output"] == "done"
    assert "read_context_ref" not in model.calls[0].tools
    assert "not possible now" in model.calls[1].text


def test_a_planning_model_grants_what_it_lists(run: Run, contexts: ContextStore) -> None:
    ref = REF.model_dump()
    plan = {"subtasks": [{"objective": "one", "context_refs": [ref]}, {"objective": "two"}]}
    model = ScriptedChatModel(answers=[plan], structured=True)
    seen = Solver()
    solver = create_recursive_solver(
        decomposer=llm_decomposer(model),
        solver=seen,
        context_store=contexts,
        policy=SolvePolicy(max_depth=1, sequential_children=True),
    )
    assert run(solver, granted(), CONFIG)["success"]
    assert [(task.id, task.brief.context_refs) for task in seen.tasks[:2]] == [("t.1", [REF]), ("t.2", [])]
    assert "A sub-task can read only those that you list" in model.calls[0].text


def test_a_planning_model_is_told_of_references_only_where_there_are_some(run: Run) -> None:
    model = ScriptedChatModel(answers=[{"subtasks": []}], structured=True)
    run(create_recursive_solver(decomposer=llm_decomposer(model), solver=lambda task: "done"), "use nothing", CONFIG)
    assert "ontext references" not in model.calls[0].text
