"""A resume counts each finished call once, whichever of its records had reached the saver."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph.history import records, spent_by_run
from langgraph_recursive.state import Task, TaskBrief, TaskState

INNER = [{"id": f"call-{number}", "usage": {"calls": 1, "llm_calls": 1}} for number in range(2)]
BRANCHES = [{"value": {}, "branch": {"calls": 1, "llm_calls": 1}, "calls": [call]} for call in INNER]


def counted(stored: list[dict[str, Any]]) -> int:
    """What a thread's checkpoints say was called, with these records pending."""
    brief = TaskBrief(objective="job", reason="r", completion_criteria=["c"], expected_outputs=["o"])
    state = TaskState(current=Task(id="t", spec="job", brief=brief))
    checkpoint = {
        **empty_checkpoint(),
        "channel_values": {"state": state.model_dump(), "branch:to:verify": None},
        "channel_versions": {"state": 1, "branch:to:verify": 1},
    }
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    config = saver.put(config, checkpoint, {}, checkpoint["channel_versions"])  # type: ignore[arg-type]  # only what is read
    for number, record in enumerate(stored):
        saver.put_writes(config, [("__return__", record)], f"task-{number}")
    return spent_by_run(records(saver.list(config))).usage[1].calls


@pytest.mark.parametrize("missing", [(), *combinations(range(2), 1), (0, 1)])
def test_a_branch_counts_for_the_calls_whose_own_records_were_lost(missing: tuple[int, ...]) -> None:
    own = [call for number, call in enumerate(INNER) if number not in missing]
    assert counted([*own, *BRANCHES]) == 2


def test_a_call_counts_by_its_own_record_while_its_branch_goes_on() -> None:
    assert counted(INNER) == 2
    assert counted([INNER[0]]) == 1
