"""One of each part that asks a model or reads a file: the server refuses what blocks its event loop."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_recursive.graph import SimpleRecursiveAgent, SolvePolicy, create_recursive_solver
from langgraph_recursive.nodes import agent_parent, command_validator, llm_reviewer, llm_solver, llm_verifier
from scripted import ScriptedChatModel, tool_call

SAYS = {
    "You decide whether": "No",
    "You split a task": "- one\n- two",
    "You are in charge": '{"decision": "REJECT_REFINE", "reason": "It is there."}',
    "You check": "ACCEPT good",
}


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} is a word"


def answer(messages: list[BaseMessage]) -> str:
    """Play a part as its system message asks."""
    return next((said for start, said in SAYS.items() if messages[0].text.startswith(start)), "all of it")


def search(messages: list[BaseMessage]) -> str | AIMessage:
    """Look something up, and answer when the rounds are used up."""
    return "found" if "sea is a word" in messages[-1].text else tool_call("look_up", word="sea")


def report(text: str) -> AIMessage:
    return tool_call(
        "submit_task_report",
        summary=text,
        outcome="satisfied",
        validation={"hard_passed": True},
        outputs=[{"text": text}],
    )


model = ScriptedChatModel(answers=answer)
searching = ScriptedChatModel(answers=search, tools=True)
parts = create_recursive_solver(
    model,
    solver=llm_solver(searching, tools=[look_up], max_tool_rounds=1),
    verifiers=[llm_verifier(model), command_validator(["true"])],
    reviewer=llm_reviewer(model),
    policy=SolvePolicy(max_depth=1),
)

BRIEF = {"objective": "one", "reason": "r", "completion_criteria": ["c"], "expected_outputs": ["o"]}
script = [
    tool_call("agent", task_brief=BRIEF),
    report("one is done"),
    tool_call("review_task_result", child_task_id="t.1", decision="ASCEND", reason="because"),
    report("all is done"),
]
played = create_recursive_solver(
    **agent_parent(ScriptedChatModel(answers=script, repeat=True, tools=True)).roles(),
    policy=SolvePolicy(sequential_children=True),
)

agent = SimpleRecursiveAgent(ScriptedChatModel(answers=["42", "DONE"], repeat=True), name="agent")
