"""A tree that an `agent_parent` plays, by a model that answers each question by what it says, in whatever process.

t          plans a and b; has a revised, and c started beside; combines
t.1        answers at once; its first answer is revised
t.2        plans one part; combines
t.2.1      answers at once
t.3        c; answers at once
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from call_log import CallLog
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes import agent_parent
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.brief import TaskBrief
from langgraph_recursive.state.ids import root_ref
from langgraph_recursive.state.task import Task
from scripted import ScriptedChatModel

__all__ = ("ANSWER", "TASK", "Step", "crash_solver", "parent_solver", "steps")

TASK = "write the yearly report"
ANSWER = "all of t"

Step = tuple[str, str]
"""What a conversation holds of one message: `asked at node`, or the name of a tool, and for which attempt or task."""

_PLANS = {"t": ["a", "b"], "t.2": ["b one"]}
_REVIEWS = {"t.1": "REVISE_CHILD", "t.2": "DESCEND_AGAIN", "t.3": "ASCEND", "t.2.1": "ASCEND"}
_REPORT_OF = re.compile(r"^# Report of (\S+)$", re.M)
_APPROVED = re.compile(r'<quoted kind="approved">\n(.*?)\n</quoted>', re.S)


def parent_solver(saver: Any, answered: Any = None, **policy: Any) -> Any:
    """A solver of the tree.

    Args:
        saver: Its checkpointer.
        answered: `answered(messages)` answers in the place of `move`.
        policy: Fields of SolvePolicy.
    """
    parent = agent_parent(ScriptedChatModel(answers=answered or move, tools=True))
    return create_recursive_solver(**parent.roles(), checkpointer=saver, policy=SolvePolicy(**policy))


def crash_solver(log: CallLog, saver: BaseCheckpointSaver[Any] | None, *, in_async: bool = False) -> Any:
    """The same for the crash job; each model call is logged for the attempt and node that it is made for."""

    def answered(messages: Sequence[BaseMessage]) -> AIMessage:
        asked = _question(messages).additional_kwargs
        number = asked["task"].partition("_fix_")[2]
        task = Task.model_construct(id=asked["task"], attempt=1 + int(number or 0))
        with log.call(task, f"{asked['at']}-{len(messages)}"):
            return move(messages)

    return parent_solver(saver, answered, max_concurrency=3)


def move(messages: Sequence[BaseMessage]) -> AIMessage:
    """Answer the last question."""
    question = _question(messages)
    task_id, at = question.additional_kwargs["task"], question.additional_kwargs["at"]
    plan = _PLANS.get(root_ref(task_id), [])
    if at == "decompose" and plan:
        return _calls(("agent", {"task_brief": _brief(part)}) for part in plan)
    if reviewed := _REPORT_OF.search(question.text):
        return _calls([("review_task_result", _review(reviewed[1]))])
    if at == "review":
        return _calls(("agent", json.loads(text)) for text in _APPROVED.findall(question.text))
    return _calls([("submit_task_report", _report(f"{'all of' if at == 'aggregate' else 'did'} {task_id}"))])


def steps(messages: Sequence[BaseMessage]) -> list[Step]:
    """What was asked and what was done in a conversation."""
    found: list[Step] = []
    for message in messages:
        known = message.additional_kwargs
        if isinstance(message, HumanMessage):
            found.append((f"asked at {known['at']}", known["task"]))
        if isinstance(message, ToolMessage):
            found.append((str(message.name), known["task"]))
    return found


def _question(messages: Sequence[BaseMessage]) -> HumanMessage:
    return next(message for message in reversed(messages) if isinstance(message, HumanMessage))


def _brief(objective: str) -> dict[str, Any]:
    return TaskBrief(
        objective=objective, reason="a part", completion_criteria=["it is done"], expected_outputs=["a text"]
    ).model_dump(mode="json")


def _review(child: str) -> dict[str, Any]:
    decision = _REVIEWS.get(child, "REJECT_REFINE")
    more = {"approved_next_task": _brief("c")} if decision == "DESCEND_AGAIN" else {}
    return {"child_task_id": child, "decision": decision, "reason": "because", **more}


def _report(text: str) -> dict[str, Any]:
    done = {"summary": text, "outcome": "satisfied", "validation": {"hard_passed": True}}
    return {**done, "outputs": [{"text": text}]}


def _calls(moves: Iterable[tuple[str, dict[str, Any]]]) -> AIMessage:
    calls: Any = [
        {"name": name, "args": args, "id": f"c{n}", "type": "tool_call"} for n, (name, args) in enumerate(moves)
    ]
    return AIMessage("", tool_calls=calls)
