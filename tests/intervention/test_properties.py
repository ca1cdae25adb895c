"""Whatever fails and whatever a person decides, what is promised holds."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from halting_world import CONFIG, Leaf, Story, World
from langgraph_recursive.graph import Budget
from langgraph_recursive.graph.history import TaskRecord

TROUBLES = ("fine", "rejected", "changing", "raises", "refused", "erring")
DECISIONS = (
    {"hint": "try this"},
    {"spec": "edited"},
    {"spec": "edited", "hint": "both", "by": "ann"},
    {"limits": {"max_attempts": 5}},
    {"limits": {"max_attempts": 5}, "hint": "more"},
    {"limits": {"budget": {"max_llm_calls": None}}},
    "retry",
    {"decision": "accept", "answer": "by hand", "by": "bob"},
    "accept",
    "stop",
)


@st.composite
def leaves(draw: Any) -> list[Leaf]:
    """One to three parts, each of which may need some before it."""
    return [
        Leaf(
            draw(st.sampled_from(TROUBLES)),
            draw(st.integers(1, 4)),
            tuple(needed for needed in range(number) if draw(st.booleans())),
        )
        for number in range(draw(st.integers(1, 3)))
    ]


@st.composite
def policies(draw: Any) -> dict[str, Any]:
    policy = {
        "max_attempts": draw(st.integers(1, 3)),
        "max_concurrency": draw(st.sampled_from([1, 3])),
        "interrupt_on_halt": draw(st.booleans()),
        "on_child_failure": draw(st.sampled_from([None, "replan", "best_effort"])),
        "sequential_children": draw(st.booleans()),
    }
    limited = draw(st.none() | st.integers(3, 12))
    return policy if limited is None else {**policy, "budget": Budget(max_llm_calls=limited)}


@pytest.mark.parametrize("in_async", [False, True], ids=["sync", "async"])
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a story takes too long to be shrunk
)
@given(data=st.data())
def test_what_is_promised_holds(in_async: bool, data: Any) -> None:
    world, saver = World(data.draw(leaves())), InMemorySaver()
    graph = world.solver(saver, policy=data.draw(policies()))
    story = Story(
        graph, saver, lambda halt, _: data.draw(st.sampled_from(DECISIONS), label=f"about {halt}"), in_async=in_async
    )
    result = story.told()
    for record in story.records():
        ids_are_linear(record)
        nothing_passes_unchecked(record, world)
    assert not world.after, "an accepted part was solved again"
    assert result["success"] == (result["halt"] is None)
    assert not (result["verified"] and result["waived_by"])
    assert Counter(message.type for message in graph.get_state(CONFIG).values["messages"])["ai"] == 1


def ids_are_linear(record: TaskRecord) -> None:
    attempts = record.state.attempts
    assert [attempt.attempt for attempt in attempts] == list(range(1, len(attempts) + 1))
    chain = record.task.root_ref
    assert [attempt.id for attempt in attempts] == [chain, *(f"{chain}_fix_{n}" for n in range(1, len(attempts)))]


def nothing_passes_unchecked(record: TaskRecord, world: World) -> None:
    verdict = record.state.verdict
    if verdict is None or verdict.outcome != "passed":
        return
    assert verdict.waived_by or verdict.evaluated_task_id in world.passed
    assert not (verdict.waived_by and verdict.verified)
