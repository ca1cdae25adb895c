"""Identity: the same code reads the same in any process, and changed code does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from langgraph_recursive.nodes.identity import identity_of

FACTORY = """
def at_least(count, words=("EUR",)):
    def verifier(task, result):
        return len(result) >= count and any(word in result for word in words)
    return verifier

verifier = at_least({count})
"""
OBJECT = """
class Verifier:
    unit = "{unit}"
    def __init__(self, least):
        self.least = least
    def __call__(self, task, result):
        return len(result) {sign} self.least and self.unit in result

verifier = Verifier({least})
"""
HELPED = """
LEAST = {least}

class Rule:
    def holds(self, result):
        return len(result) {sign} LEAST

def holds(result):
    return Rule().holds(result) and {word!r} in result

def verifier(task, result):
    return holds(result)
"""
RUNNABLE = """
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.runnables import RunnableLambda

model = GenericFakeChatModel(messages=iter([]), disable_streaming={streaming})
verifier = ChatPromptTemplate.from_template({prompt!r}) | model | RunnableLambda(lambda reply: reply.text == {word!r})
"""
GRAPH = """
from langgraph.graph import START, MessagesState, StateGraph

def judge(state):
    return {{"messages": [{word!r}]}}

graph = StateGraph(MessagesState)
graph.add_node("judge", judge)
graph.add_edge(START, "judge")
verifier = graph.compile()
"""
BUILT_IN = """
import sys
from langchain_core.language_models import GenericFakeChatModel
from langgraph_recursive.nodes import command_validator, llm_verifier

verifier = {made}
"""
PLAIN = "verifier = lambda task, result: {body}"


def made(source: str, **filled: Any) -> Any:
    """The verifier of a module of its own."""
    names: dict[str, Any] = {"__name__": "rules"}
    exec(compile(source.format(**filled) if filled else source, "rules.py", "exec"), names)
    return names["verifier"]


JUDGE = "llm_verifier(GenericFakeChatModel(messages=iter([])), criteria=['{criterion}'])"
CHANGES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "code": (PLAIN, {"body": "'EUR' in result"}, {"body": "'EUR' not in result"}),
    "a constant": (PLAIN, {"body": "'EUR' in result"}, {"body": "'USD' in result"}),
    "an attribute that is asked for": (PLAIN, {"body": "task.id"}, {"body": "task.spec"}),
    "a set": (PLAIN, {"body": "result in {'a', 'b'}"}, {"body": "result in {'a', 'c'}"}),
    "code inside": (
        PLAIN,
        {"body": "all(word < 'a' for word in result)"},
        {"body": "all(word > 'a' for word in result)"},
    ),
    "a default": ("def verifier(task, result, least={n}): return least", {"n": 1}, {"n": 2}),
    "a default by keyword": ("def verifier(task, result, *, least={n}): return least", {"n": 1}, {"n": 2}),
    "what it closes over": (FACTORY, {"count": 3}, {"count": 4}),
    "an attribute": (OBJECT, {"unit": "EUR", "sign": ">=", "least": 3}, {"unit": "EUR", "sign": ">=", "least": 4}),
    "a method": (OBJECT, {"unit": "EUR", "sign": ">=", "least": 3}, {"unit": "EUR", "sign": ">", "least": 3}),
    "a class's constant": (
        OBJECT,
        {"unit": "EUR", "sign": ">=", "least": 3},
        {"unit": "USD", "sign": ">=", "least": 3},
    ),
    "a helper": (HELPED, {"least": 3, "sign": ">", "word": "a"}, {"least": 3, "sign": ">", "word": "b"}),
    "a helping class": (HELPED, {"least": 3, "sign": ">", "word": "a"}, {"least": 3, "sign": "<", "word": "a"}),
    "a constant of its module": (
        HELPED,
        {"least": 3, "sign": ">", "word": "a"},
        {"least": 4, "sign": ">", "word": "a"},
    ),
    "what it takes from elsewhere": (
        "from math import {name} as round_it\ndef verifier(task, result): return round_it(len(result))",
        {"name": "ceil"},
        {"name": "floor"},
    ),
    "a partial's argument": (
        "import functools\nverifier = functools.partial(lambda least, task, result: least, {n})",
        {"n": 1},
        {"n": 2},
    ),
    "what is decorated": (
        "import functools\n@functools.lru_cache\ndef verifier(task, result): return {n}",
        {"n": 1},
        {"n": 2},
    ),
    "a bound method's object": (
        "class R:\n def __init__(self, n): self.n = n\n def check(self): return self.n\nverifier = R({n}).check",
        {"n": 1},
        {"n": 2},
    ),
    "a chain's prompt": (
        RUNNABLE,
        {"prompt": "Is {task} done?", "word": "yes", "streaming": True},
        {"prompt": "Is {task} done well?", "word": "yes", "streaming": True},
    ),
    "a chain's function": (
        RUNNABLE,
        {"prompt": "Is {task} done?", "word": "yes", "streaming": True},
        {"prompt": "Is {task} done?", "word": "no", "streaming": True},
    ),
    "a graph's node": (GRAPH, {"word": "ACCEPT"}, {"word": "REJECT"}),
    "a judge's criteria": (
        BUILT_IN,
        {"made": JUDGE.format(criterion="polite")},
        {"made": JUDGE.format(criterion="short")},
    ),
    "a command": (
        BUILT_IN,
        {"made": "command_validator([sys.executable, '-V'])"},
        {"made": "command_validator([sys.executable, '-VV'])"},
    ),
    "a command's environment": (
        BUILT_IN,
        {"made": "command_validator([sys.executable], env={'A': '1'})"},
        {"made": "command_validator([sys.executable], env={'A': '2'})"},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_and_nothing_else_is(change: str) -> None:
    source, before, after = CHANGES[change]
    first = identity_of(made(source, **before))
    assert identity_of(made("\n\n" + source, **before)) == first  # another place, other addresses
    assert identity_of(made(source, **after)) != first


STATE = {
    "a list in a closure": """
def counting():
    seen = []
    def verifier(task, result):
        seen.append(result)
        return True
    return verifier
verifier = counting()
""",
    "a number in a closure": """
def counting():
    count = 0
    def verifier(task, result):
        nonlocal count
        count += 1
        return True
    return verifier
verifier = counting()
""",
    "a global": """
count = 0
def verifier(task, result):
    global count
    count += 1
    return True
""",
    "attributes": """
import functools
class Verifier:
    calls = 0
    def __init__(self):
        self.seen = {}
        self.last = None
    @functools.cached_property
    def word(self):
        return "EUR"
    def __call__(self, task, result):
        self.calls += 1
        self.seen[result] = self.last = self.word
        return True
verifier = Verifier()
""",
}


@pytest.mark.parametrize("state", STATE)
def test_working_does_not_change_it(state: str) -> None:
    verifier = made(STATE[state])
    before = identity_of(verifier)
    verifier("task", "answer")
    assert identity_of(verifier) == before


def test_what_refers_to_itself_ends() -> None:
    class Rule:
        other: Any = None

        def __call__(self, result: str) -> Any:
            return again(self.other)

    def again(result: str) -> Any:
        return again(result)

    rule = Rule()
    rule.other = rule
    assert len({identity_of(again), identity_of(rule), identity_of(rule.__call__)}) == 3


def test_every_process_that_runs_the_same_code_says_the_same(tmp_path: Path) -> None:
    """Another seed for hashes, another folder, another order of objects in memory."""
    sources = [source.format(**filled) for source, *both in CHANGES.values() for filled in both] + list(STATE.values())
    job = dedent("""
        import json, sys
        from langgraph_recursive.nodes.identity import identity_of

        found = []
        for source in json.load(sys.stdin):
            names = {"__name__": "rules"}
            exec(compile(source, sys.argv[1] + "/rules.py", "exec"), names)
            found.append(identity_of(names["verifier"]))
        print(json.dumps(found))
    """)

    def told(seed: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", job, f"{tmp_path}/{seed}"],
            input=json.dumps(sources),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        found: list[str] = json.loads(done.stdout)
        return found

    first = told("1")
    assert first == told("2")
    assert first[:4] == [identity_of(made(source)) for source in sources[:4]]
