"""agent_parent: one conversation plays a task's whole protocol, and gets nothing past a gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.parts.agent_parent import agent_parent
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.errors import ComponentError
from langgraph_recursive.state.task_state import TaskState
from review_kit import CONFIG
from scripted import ScriptedChatModel

Run = Callable[..., dict[str, Any]]
Step = tuple[str, dict[str, Any]]


def brief(objective: str) -> dict[str, Any]:
    return {"objective": objective, "reason": "r", "completion_criteria": ["c"], "expected_outputs": ["o"]}


def start(objective: str, **more: Any) -> Step:
    return "agent", {"task_brief": brief(objective), **more}


def report(text: str, **more: Any) -> Step:
    fields = {"summary": text, "outcome": "satisfied", "validation": {"hard_passed": True}, "outputs": [{"text": text}]}
    return "submit_task_report", {**fields, **more}


def judge(child: str, decision: str, **more: Any) -> Step:
    return "review_task_result", {"child_task_id": child, "decision": decision, "reason": "because", **more}


def message(*steps: Step) -> AIMessage:
    calls: Any = [
        {"name": name, "args": args, "id": f"c{n}", "type": "tool_call"} for n, (name, args) in enumerate(steps)
    ]
    return AIMessage("", tool_calls=calls)


def lasting(value: Any) -> Any:
    """Data without what counts time and calls, and without the children's messages, whose ids are random."""
    if isinstance(value, dict):
        return {name: lasting(part) for name, part in value.items() if name not in ("log", "spent", "elapsed", "said")}
    return [lasting(part) for part in value] if isinstance(value, list) else value


class Play:
    """A solver whose root is played from a script; its children are played by an own one, or just answer.

    Each entry of the script is a step, several of one message, or a text.
    """

    def __init__(self, script: Sequence[Any], **options: Any) -> None:
        self.model = ScriptedChatModel(answers=[self._message(entry) for entry in script], tools=True)
        parent = agent_parent(self.model, options.pop("tools", ()))
        roles = {**parent.roles(), **options.pop("roles", {})}
        self.graph: Any = create_recursive_solver(
            **roles, checkpointer=InMemorySaver(), policy=SolvePolicy(**{"sequential_children": True, **options})
        )

    @staticmethod
    def _message(entry: Any) -> Any:
        if isinstance(entry, str | AIMessage | BaseException):
            return AIMessage(entry) if isinstance(entry, str) else entry
        return message(entry) if isinstance(entry[0], str) else message(*entry)

    @property
    def offers(self) -> list[list[str]]:
        return [call.tools for call in self.model.calls]

    def seen(self, number: int) -> list[BaseMessage]:
        return self.model.calls[number].messages

    @property
    def values(self) -> dict[str, Any]:
        return dict(self.graph.get_state(CONFIG).values)

    @property
    def state(self) -> dict[str, Any]:
        """The root's state, without what counts time and calls."""
        return dict(lasting(TaskState.model_validate(self.values["state"]).model_dump(mode="json")))


# The gates, one after the other, in a run that goes through all of them; children answer at the plan's gate too.
WHOLE: list[Any] = [
    [start("a"), start("b")],
    report("did a"),
    report("did b"),
    judge("t.1", "REVISE_CHILD"),
    judge("t.2", "DESCEND_AGAIN", approved_next_task=brief("c")),
    [start("a", continue_from="t.1"), start("c")],
    report("did a again"),
    report("did c"),
    judge("t.1_fix_1", "REJECT_REFINE"),
    judge("t.3", "ASCEND"),
    report("all of it"),
]
OFFERED: list[list[str]] = [
    ["agent", "submit_task_report"],
    ["agent", "submit_task_report"],
    ["agent", "submit_task_report"],
    ["review_task_result"],
    ["review_task_result"],
    ["agent"],
    ["submit_task_report"],
    ["agent", "submit_task_report"],
    ["review_task_result"],
    ["review_task_result"],
    ["submit_task_report"],
]
GATES = {"plan": 0, "review": 3, "action": 5, "fix": 6, "aggregate": 10}
EVERY_TOOL: dict[str, Step] = {
    "agent": start("z"),
    "submit_task_report": report("early"),
    "review_task_result": judge("t.1", "FAIL"),
    "read_context_ref": ("read_context_ref", {"ref_id": "x"}),
}


def test_each_gate_offers_exactly_its_tools(run: Run) -> None:
    play = Play(WHOLE)
    assert run(play.graph, "job", CONFIG)["output"] == "all of it"
    assert play.offers == OFFERED


ILLEGAL = [
    (gate, tool)
    for gate, number in GATES.items()
    for tool in EVERY_TOOL
    if tool not in OFFERED[number] or (gate, tool) == ("action", "agent")
]


@pytest.mark.parametrize(("gate", "tool"), ILLEGAL)
def test_every_other_tool_is_refused_with_the_state_unchanged(gate: str, tool: str) -> None:
    number = GATES[gate]
    plain, tried = Play(WHOLE), Play([*WHOLE[:number], EVERY_TOOL[tool], *WHOLE[number:]])
    plain.graph.invoke("job", CONFIG)
    assert tried.graph.invoke("job", CONFIG)["output"] == "all of it"
    [refusal] = [said for said in tried.seen(number + 1)[-2:] if isinstance(said, ToolMessage)]
    assert refusal.status == "error"
    assert tried.state == plain.state


@pytest.mark.parametrize(
    "step",
    [
        start("a", continue_from="t.9"),
        judge("t.2", "REJECT_REFINE"),
        judge("t.1", "REPLAN_CURRENT"),
        judge("t.1", "DESCEND_AGAIN"),
        ("review_task_result", {"child_task_id": "t.1", "decision": "REJECT_REFINE", "reason": " "}),
        ("review_task_result", {**judge("t.1", "REJECT_REFINE")[1], "retry_from": {"task_id": "t", "at": "solve"}}),
    ],
    ids=["wrong tool", "another child", "forbidden", "no brief", "no reason", "retry_from"],
)
def test_a_review_that_does_not_fit_is_refused_with_the_state_unchanged(step: Step) -> None:
    plain, tried = Play(WHOLE), Play([*WHOLE[:3], step, *WHOLE[3:]])
    plain.graph.invoke("job", CONFIG)
    assert tried.graph.invoke("job", CONFIG)["output"] == "all of it"
    assert tried.state == plain.state


@pytest.mark.parametrize(
    "steps",
    [
        [start("a", continue_from="t.1"), start("c, but other")],
        [start("a"), start("c")],
        [start("a", continue_from="t.2"), start("c")],
        [start("a", continue_from="validator:task"), start("c")],
        [start("a", continue_from="t.1")],
        [start("a", continue_from="t.1"), start("c"), start("d")],
    ],
    ids=["other brief", "no continue_from", "other child", "a validator", "one missing", "one too many"],
)
def test_only_exactly_what_was_approved_is_started(steps: list[Step]) -> None:
    plain, tried = Play(WHOLE), Play([*WHOLE[:5], steps, *WHOLE[5:]])
    plain.graph.invoke("job", CONFIG)
    assert tried.graph.invoke("job", CONFIG)["output"] == "all of it"
    assert tried.state == plain.state


def test_nothing_goes_on_without_an_approved_revision(run: Run) -> None:
    play = Play([start("a", continue_from="t.1"), start("a"), report("did a"), judge("t.1", "ASCEND"), report("all")])
    assert run(play.graph, "job", CONFIG)["output"] == "all"
    assert "continue_from needs an approved revision" in play.model.calls[1].text


def test_it_answers_itself_what_it_does_not_split(run: Run) -> None:
    play = Play([report("done")])
    assert run(play.graph, "job", CONFIG)["output"] == "done"


def test_a_report_that_breaks_a_rule_is_refused(run: Run) -> None:
    play = Play([report("done", remaining_issues=["one"]), report("done")])
    assert run(play.graph, "job", CONFIG)["output"] == "done"
    assert "report 'partial' otherwise" in play.seen(1)[-2].text


def test_without_a_report_after_two_corrections_it_is_a_protocol_error(run: Run) -> None:
    play = Play(["well", "hm", "no"])
    result = run(play.graph, "job", CONFIG)
    assert (result["halt"].type, result["report"].outcome) == ("protocol_error", "protocol_error")
    assert len(play.offers) == 3


def test_a_child_without_a_report_is_still_reviewed(run: Run) -> None:
    play = Play([start("a"), "well", "hm", "no", judge("t.1", "REVISE_CHILD"), start("a", continue_from="t.1"),
                 report("a"), judge("t.1_fix_1", "ASCEND"), report("all")])  # fmt: skip
    assert run(play.graph, "job", CONFIG)["output"] == "all"
    assert "outcome: protocol_error" in play.seen(4)[-1].text
    assert "- REVISE_CHILD" in play.seen(4)[-1].text
    assert "- REPLAN_CURRENT" not in play.seen(4)[-1].text


def test_a_child_that_raises_still_gives_its_parent_a_report_and_a_verdict(run: Run) -> None:
    def broken(task: Any) -> str:
        raise RuntimeError("the disk is full")

    roles = {"solver": broken, "atomizer": lambda task, depth: depth > 0}
    play = Play([start("a"), judge("t.1", "FAIL")], roles=roles)
    assert run(play.graph, "job", CONFIG)["halt"].type == "child_failed"
    assert "outcome: failed" in play.seen(1)[-1].text
    assert "the disk is full" in play.seen(1)[-1].text


def test_its_messages_are_its_tasks_own(run: Run) -> None:
    play = Play([start("a"), report("did a"), judge("t.1", "ASCEND"), report("all")])
    result = run(play.graph, "job", CONFIG)
    assert [said.text for said in result["messages"] if isinstance(said, AIMessage)] == ["all"]
    own = play.values["parent_messages"]
    assert [call["name"] for said in own if isinstance(said, AIMessage) for call in said.tool_calls] == [
        "agent",
        "review_task_result",
        "submit_task_report",
    ]
    answered = {said.tool_call_id for said in own if isinstance(said, ToolMessage)}
    assert answered == {call["id"] for said in own if isinstance(said, AIMessage) for call in said.tool_calls}


def test_a_revised_child_goes_on_with_its_own_conversation(run: Run) -> None:
    """`continue_from` is the same child: what it planned, reviewed and said is before it again."""
    play = Play([start("a"), report("did a"), judge("t.1", "REVISE_CHILD"), start("a", continue_from="t.1"),
                 report("did a again"), judge("t.1_fix_1", "ASCEND"), report("all")])  # fmt: skip
    assert run(play.graph, "job", CONFIG)["output"] == "all"
    first, again = play.seen(1), play.seen(4)
    assert again[: len(first)] == first
    assert [call["name"] for said in again if isinstance(said, AIMessage) for call in said.tool_calls] == [
        "submit_task_report"
    ]
    assert "because" in again[-1].text
    assert play.offers[4] == ["submit_task_report"]


def test_a_new_run_on_its_thread_is_a_new_conversation(run: Run) -> None:
    play = Play([report("one"), report("two")])
    run(play.graph, "first job", CONFIG)
    assert run(play.graph, "second job", CONFIG)["output"] == "two"
    assert "first job" not in play.model.calls[1].text


def test_it_works_with_tools_of_its_own(run: Run) -> None:
    def look(word: str) -> str:
        """Look a word up."""
        return f"{word} means yes"

    play = Play([("look", {"word": "oui"}), report("yes")], tools=[look])
    assert run(play.graph, "job", CONFIG)["output"] == "yes"
    assert play.offers[0] == ["agent", "submit_task_report", "look"]
    assert play.seen(1)[-1].text == "oui means yes"


def test_finished_calls_are_not_made_again_after_a_crash() -> None:
    play = Play([[start("a"), start("b")], report("did a"), KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        play.graph.invoke("job", CONFIG, durability="sync")
    rest = [report("did b"), judge("t.1", "REJECT_REFINE"), judge("t.2", "ASCEND"), report("all")]
    play.model.answers = [*[None] * 3, *map(Play._message, rest)]
    assert play.graph.invoke(None, CONFIG)["output"] == "all"
    assert len(play.offers) == 7


def test_it_needs_a_chat_model() -> None:
    not_a_model: Any = "openai:gpt-5"
    with pytest.raises(ComponentError, match="agent_parent"):
        agent_parent(not_a_model)
