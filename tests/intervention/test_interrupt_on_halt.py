"""`interrupt_on_halt`: a person is asked what becomes of a halt, in place, and the run goes on as decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from intervention_kit import Work, attempt_of, config_of
from langgraph_recursive.graph import Budget, SolvePolicy, create_recursive_solver
from langgraph_recursive.nodes import accept, llm_solver, reject
from langgraph_recursive.state import Intervention

Run = Callable[..., dict[str, Any]]


def needs_hint(task: Any) -> bool:
    return not task.hints


@pytest.fixture
def config() -> Any:
    return config_of("1")


def asked(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [interrupt.value for interrupt in result["__interrupt__"]]


def test_who_does_not_opt_in_is_not_asked(run: Run, config: Any) -> None:
    result = run(Work(needs_hint).solver(InMemorySaver(), policy={"interrupt_on_halt": False}), "alone", config)
    assert result["halt"].type == "recovery_stalled"
    assert "__interrupt__" not in result


def test_without_a_checkpointer_nobody_could_answer_so_nobody_is_asked(run: Run) -> None:
    result = run(Work(needs_hint).solver(None), "alone")
    assert result["halt"].type == "recovery_stalled"


def test_the_question_says_what_halted_and_what_can_be_decided(run: Run, config: Any) -> None:
    [question] = asked(run(Work(needs_hint).solver(InMemorySaver()), "alone", config))
    assert question["type"] == "halt"
    assert question["task_id"] == "t_fix_1"
    assert question["halt"]["type"] == "recovery_stalled"
    assert question["answer"] == "bad alone"
    assert question["verdict"]["outcome"] == "failed"
    assert set(question["decisions"]) == {"retry", "accept", "stop"}


def test_a_hint_reaches_the_next_attempt_of_the_same_chain(run: Run, config: Any) -> None:
    work = Work(needs_hint)
    graph = work.solver(InMemorySaver())
    run(graph, "alone", config)
    result = run(graph, Command(resume={"decision": "retry", "hint": "count twice", "by": "ann"}), config)
    assert result["output"] == "alone"
    assert result["verified"]
    assert work.calls == ["t", "t_fix_1", "t_fix_2"]
    spec = str(work.tasks[-1])
    assert "# Hints of a person\n\n> count twice" in spec
    assert spec.count("it is bad") == 2  # with every failure so far
    halted = attempt_of(result, "t_fix_1")
    assert halted.halt == "recovery_stalled"
    assert halted.intervention == Intervention(hint="count twice", by="ann")
    assert attempt_of(result, "t_fix_2").intervention is None
    assert result["halt"] is None
    assert [entry.type for entry in result["traces"]].count("INTERVENED") == 1


def test_a_hint_stays_for_further_attempts(run: Run, config: Any) -> None:
    work = Work(lambda task: len(task.hints) < 2)
    graph = work.solver(InMemorySaver())
    run(graph, "alone", config)
    run(graph, Command(resume={"hint": "one"}), config)
    result = run(graph, Command(resume={"hint": "two"}), config)
    assert result["success"]
    assert work.tasks[-1].hints == ["one", "two"]


def test_an_edited_spec_is_added_to_the_original_one(run: Run, config: Any) -> None:
    work = Work(lambda task: "in EUR" not in task.instructions)
    graph = work.solver(InMemorySaver())
    run(graph, "alone", config)
    result = run(graph, Command(resume=Intervention(spec="the price in EUR")), config)
    assert result["success"]
    spec = str(work.tasks[-1])
    assert spec.startswith("# Task\n\nalone\n\n# Revised instructions (version 2)\n\n> the price in EUR")
    assert work.tasks[-1].root_spec == "alone"


def test_a_spec_that_was_refused_is_replaced(run: Run, config: Any) -> None:
    work = Work()
    graph = work.solver(
        InMemorySaver(), prechecks=[lambda task: accept() if "EUR" in str(task) else reject("no currency")]
    )
    [question] = asked(run(graph, "a price", config))
    assert question["halt"]["type"] == "precheck_failed"
    result = run(graph, Command(resume={"spec": "a price in EUR"}), config)
    assert result["output"] == "a price in EUR"
    assert work.tasks[0].intent == "a price in EUR"
    assert "a price\n" not in str(work.tasks[0])


def test_an_answer_accepted_with_a_waiver_is_a_success_that_is_not_verified(run: Run, config: Any) -> None:
    graph = Work(needs_hint).solver(InMemorySaver())
    run(graph, "alone", config)
    result = run(graph, Command(resume={"decision": "accept", "by": "ann", "reason": "good enough"}), config)
    assert result["output"] == "bad alone"
    assert result["success"]
    assert not result["verified"]
    assert result["waived_by"] == result["verdict"].waived_by == "ann"
    assert result["halt"] is None
    assert result["report"].outcome == "satisfied"
    assert [check.status for check in result["verdict"].checks] == ["failed"]  # what was waived can still be read
    last = result["attempts"][-1]
    assert (last.outcome, last.halt, last.intervention.reason) == ("failed", "recovery_stalled", "good enough")
    assert result["messages"][-1].content == "bad alone"


def test_a_person_may_give_the_answer(run: Run, config: Any) -> None:
    graph = Work(needs_hint).solver(InMemorySaver())
    run(graph, "alone", config)
    result = run(graph, Command(resume={"decision": "accept", "answer": "mine"}), config)
    assert (result["output"], result["verified"], result["waived_by"]) == ("mine", False, "a person")


def test_a_halt_that_is_let_stand_ends_the_run(run: Run, config: Any) -> None:
    graph = Work(needs_hint).solver(InMemorySaver())
    run(graph, "alone", config)
    result = run(graph, Command(resume="stop"), config)
    assert result["halt"].type == "recovery_stalled"
    assert result["halt"].left_by == "a person"
    assert result["output"] is None
    assert [part.text for part in result["partial"]] == ["bad alone"]


def test_a_further_halt_asks_again(run: Run, config: Any) -> None:
    graph = Work(lambda task: True).solver(InMemorySaver())
    run(graph, "alone", config)
    [question] = asked(run(graph, Command(resume={"hint": "try harder"}), config))
    assert question["task_id"] == "t_fix_2"
    assert run(graph, Command(resume="stop"), config)["halt"].task_id == "t_fix_2"


def test_a_child_is_asked_about_in_place_and_its_siblings_keep_their_results(run: Run, config: Any) -> None:
    work = Work(lambda task: task.brief.objective == "second" and not task.hints)
    graph = work.solver(InMemorySaver())
    [question] = asked(run(graph, "job", config))
    assert question["task_id"] == "t.2_fix_1"
    result = run(graph, Command(resume={"hint": "go on"}), config)
    assert result["output"] == "first+second+third"
    assert sorted(work.calls) == ["t.1", "t.2", "t.2_fix_1", "t.2_fix_2", "t.3"]


def test_several_halts_are_asked_about_at_once_and_answered_by_id(run: Run, config: Any) -> None:
    work = Work(lambda task: task.brief.objective != "third" and not task.hints)
    graph = work.solver(InMemorySaver())
    result = run(graph, "job", config)
    answers = {
        entry.id: {"hint": "x"} if entry.value["task_id"] == "t.1_fix_1" else {"decision": "accept"}
        for entry in result["__interrupt__"]
    }
    assert len(answers) == 2
    result = run(graph, Command(resume=answers), config)
    assert result["output"] == "first+bad second+third"
    assert result["verified"]  # the whole was checked; what was waived stands in the part's own record


def test_a_halt_that_only_follows_from_one_that_was_let_stand_is_not_asked_about(run: Run, config: Any) -> None:
    graph = Work(lambda task: task.brief.objective == "second").solver(InMemorySaver())
    run(graph, "job", config)
    result = run(graph, Command(resume="stop"), config)
    assert result["halt"].type == "child_failed"
    assert result["halt"].left_by == result["halt"].child.left_by == "a person"


def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(run: Run, config: Any) -> None:
    def fails(task: Any) -> str:
        raise ValueError("no answer")

    graph = create_recursive_solver(
        solver=fails, policy=SolvePolicy(interrupt_on_halt=True), checkpointer=InMemorySaver()
    )
    run(graph, "alone", config)
    for answer, complaint in [
        (7, "an intervention is retry, accept, stop"),
        ("maybe", "intervention.decision = 'maybe'"),
        ({"decision": "stop", "hint": "x"}, "hint cannot go with decision 'stop'"),
        ({"decision": "retry", "hunt": "x"}, "intervention.hunt"),
        ("accept", "has made no answer that could be accepted: give answer="),
        ({"limits": {"max_concurrency": 9}}, "what can be raised is budget, call_timeout"),
        ({"limits": {"max_attempts": 0}}, "greater than or equal to 1"),
        ({"limits": {"max_attempts": 2}}, "raises nothing"),
        ({"limits": {"budget": {"max_calls": 2}}}, "limits.budget.max_calls"),
        ({"model": "strong"}, "no part of this solver works with a chat model"),
    ]:
        [question] = asked(run(graph, Command(resume=answer), config))
        assert complaint in question["complaint"]
    assert run(graph, Command(resume="stop"), config)["halt"].type == "task_failed"


def test_more_attempts_may_be_granted(run: Run, config: Any) -> None:
    work = Work(lambda task: task.attempt < 6)
    graph = work.solver(InMemorySaver(), policy={"max_attempts": 2, "stall_window": 0})
    [question] = asked(run(graph, "alone", config))
    assert question["halt"]["type"] == "recovery_exhausted"
    result = run(graph, Command(resume={"limits": {"max_attempts": 6}}), config)
    assert result["success"]
    assert work.calls[-1] == "t_fix_5"


def test_a_raised_limit_holds_after_a_further_resume(run: Run, config: Any) -> None:
    saver = InMemorySaver()
    work = Work(lambda task: not task.hints)
    run(work.solver(saver, policy={"max_attempts": 1, "stall_window": 0}), "alone", config)
    limits = {"limits": {"max_attempts": 4, "max_fixes_total": 50}}
    again = work.solver(saver, policy={"max_attempts": 1, "stall_window": 0})
    [question] = asked(run(again, Command(resume=limits), config))
    assert question["task_id"] == "t_fix_3"
    anew = work.solver(saver, policy={"max_attempts": 1, "stall_window": 0})
    [question] = asked(run(anew, Command(resume="retry"), config))
    assert question["task_id"] == "t_fix_4"
    assert run(anew, Command(resume={"hint": "now"}), config)["success"]
    # A new task has the solver's own limits.
    [question] = asked(run(anew, "other", config))
    assert question["task_id"] == "t"


def test_a_spent_budget_is_raised_and_nothing_finished_is_done_again(run: Run, config: Any) -> None:
    work = Work()
    graph = work.solver(
        InMemorySaver(), policy={"budget": Budget(max_llm_calls=5), "max_concurrency": 1}, parts=["first", "second"]
    )
    result = run(graph, "job", config)
    raised = {"limits": {"budget": {"max_llm_calls": 50}}}
    for _ in range(4):
        if "__interrupt__" not in result:
            break
        result = run(graph, Command(resume={entry.id: raised for entry in result["__interrupt__"]}), config)
        raised = {"limits": {"budget": {"max_llm_calls": raised["limits"]["budget"]["max_llm_calls"] + 1}}}
    assert result["output"] == "first+second"
    objectives = [task.brief.objective for task in work.tasks]
    assert sorted(objectives) == ["first", "second"]


def test_a_limit_is_lifted_with_none(run: Run, config: Any) -> None:
    work = Work()
    graph = work.solver(InMemorySaver(), policy={"budget": Budget(max_llm_calls=1)})
    [question] = asked(run(graph, "alone", config))
    assert question["halt"]["type"] == "budget_exhausted"
    result = run(graph, Command(resume={"limits": {"budget": {"max_llm_calls": None}}}), config)
    assert result["output"] == "alone"


class Model(GenericFakeChatModel):
    """Says who it is."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def model(*texts: str) -> Model:
    return Model(messages=iter(texts))


def test_another_model_works_on_from_a_halt(run: Run, config: Any) -> None:
    strong = model("good")
    graph = create_recursive_solver(
        solver=llm_solver(model("bad one", "bad two")),
        models={"strong": strong},
        verifiers=[lambda task, result: accept() if result == "good" else reject("it is bad")],
        policy=SolvePolicy(interrupt_on_halt=True),
        checkpointer=InMemorySaver(),
    )
    run(graph, "alone", config)
    [question] = asked(run(graph, Command(resume={"model": "no such provider:x"}), config))
    assert "no such provider" in question["complaint"]
    result = run(graph, Command(resume={"model": "strong"}), config)
    assert result["output"] == "good"
    assert attempt_of(result, "t_fix_1").intervention.model == "strong"


def test_sub_tasks_work_with_the_chosen_model_too(run: Run, config: Any) -> None:
    def plan(task: Any, depth: int) -> list[str]:
        if not task.model:
            raise ValueError("no plan")
        return ["a", "b"] if depth == 0 else []

    graph = create_recursive_solver(
        solver=llm_solver(model()),
        decomposer=plan,
        aggregator=lambda task, results: "+".join(results),
        models={"strong": model("good", "good")},
        policy=SolvePolicy(interrupt_on_halt=True),
        checkpointer=InMemorySaver(),
    )
    run(graph, "the work", config)
    assert run(graph, Command(resume={"model": "strong"}), config)["output"] == "good+good"


def test_models_that_are_none_are_refused() -> None:
    with pytest.raises(TypeError, match=r"models\['x'\]"):
        create_recursive_solver(solver=lambda task: "x", models={"x": lambda text: text})  # type: ignore[dict-item]


def test_a_person_is_asked_through_the_host_of_an_embedded_solver(run: Run, config: Any) -> None:
    host = StateGraph(MessagesState)
    host.add_node("writer", Work(needs_hint).solver(None))
    host.add_edge(START, "writer")
    graph = host.compile(checkpointer=InMemorySaver())
    [question] = asked(run(graph, {"messages": [("user", "a poem")]}, config))
    assert question["halt"]["type"] == "recovery_stalled"
    result = run(graph, Command(resume={"hint": "rhyme"}), config)
    assert result["messages"][-1].content == "a poem"


def test_the_decision_is_an_event(config: Any) -> None:
    graph = Work(needs_hint).solver(InMemorySaver())
    graph.invoke("alone", config)
    seen = [
        event
        for event in graph.stream(Command(resume={"hint": "x", "by": "ann"}), config, stream_mode="custom")
        if event["type"] == "intervened"
    ]
    [event] = seen
    assert event["task_id"] == "t_fix_1"
    assert event["data"] == {"decision": "retry", "hint": "x", "by": "ann", "fix": "t_fix_2"}
