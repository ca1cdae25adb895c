"""Every drawing is well-formed, needs neither network nor script, and shows hostile text as text."""

from __future__ import annotations

import contextlib
import random
import re
import threading
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from langgraph_recursive.graph import (
    EventEmitter,
    SolvePolicy,
    TaskTree,
    create_recursive_solver,
    machine_svg,
    path_of,
    timeline,
)
from langgraph_recursive.graph.view.lanes import lanes_of
from langgraph_recursive.graph.view.safe import markup, mermaid_label
from langgraph_recursive.state import InvalidInputError, SubTask, Task
from view_kit import CONFIG, HOSTILE, Seen

NAMESPACE = "{http://www.w3.org/2000/svg}"


class Tags(HTMLParser):
    """Collects tags, attributes and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def check_svg(source: str) -> ElementTree.Element:
    root = ElementTree.fromstring(source)
    tags = {element.tag.removeprefix(NAMESPACE) for element in root.iter()}
    assert tags <= {"svg", "title", "style", "defs", "pattern", "marker", "rect", "path", "text", "g"}
    names = {name for element in root.iter() for name in element.attrib}
    assert not any(name.startswith("on") or "href" in name for name in names)
    assert "http" not in source.replace("http://www.w3.org/2000/svg", "")
    assert not any(char in source for char in "\x1b\u202e\ufffe")
    return root


def test_html_is_details_and_tables_only(good: Seen) -> None:
    tags = Tags(TaskTree.from_thread(good.graph, CONFIG).html())
    assert tags.tags <= {"div", "blockquote", "details", "summary", "span", "b", "pre", "table", "tbody", "tr", "td"}
    assert tags.attributes <= {"style", "open"}
    assert not tags.open
    assert "<script>alert(1)</script> ]]> \"'`**b** \\x1b[31mred" in tags.text
    assert "FAILED test_1" in tags.text


def test_notebook_shows_html_and_text(good: Seen) -> None:
    tree = TaskTree.from_events(good.events)
    assert tree._repr_mimebundle_() == {"text/html": tree.html(), "text/plain": str(tree)}
    assert repr(tree) == f"<TaskTree: {tree.summary()}>"


@pytest.mark.parametrize("run", ["good", "bad"])
def test_svg_of_a_tree(run: str, request: pytest.FixtureRequest) -> None:
    seen: Seen = request.getfixturevalue(run)
    root = check_svg(str(TaskTree.from_thread(seen.graph, CONFIG).svg()))
    shown = [element.text or "" for element in root.iter(f"{NAMESPACE}text")]
    assert {"t", "t.1", "t.2"} <= set(shown)
    assert any(("↻ attempt 1" if run == "good" else "recovery_stalled:") in text for text in shown)


def test_mermaid_has_one_line_for_each_node_and_arrow(good: Seen) -> None:
    lines = TaskTree.from_thread(good.graph, CONFIG).mermaid().split("\n")
    assert lines[0] == "flowchart TD"
    for line in lines[1:]:
        node = re.fullmatch(r'    n\d+\["(.*)<br/>(.*)"\]', line)
        assert node or re.fullmatch(r"    (n\d+ -->? ?n\d+|classDef \w+ [\w#:,-]+|class [n\d,]+ \w+)", line), line
        assert node is None or not re.search(r"[\"<>`%{}\[\]()\x00-\x1f]", node[1] + node[2])


def test_timeline_shows_attempts_calls_and_waits(good: Seen) -> None:
    drawing = timeline(good.events)
    root = check_svg(str(drawing))
    told = [title.text or "" for title in root.iter(f"{NAMESPACE}title")]
    assert [text for text in told if text.startswith("attempt")] == [
        "attempt 1 (t): accepted",
        "attempt 1 (t.1): accepted",
        "attempt 1 (t.2): rejected, tried again",
        "attempt 2 (t.2_fix_1): rejected, tried again",
        "attempt 3 (t.2_fix_2): accepted",
    ]
    assert "waits for its sub-tasks" in told
    assert sum(text.startswith("solver:") for text in told) == 4
    assert repr(drawing).startswith("<Svg 'timeline: 3 tasks, 5 attempts")


WAITS = {
    "planned": "planned, not started",
    "dependencies": "waits for t.1, t.2",
    "children": "waits for its sub-tasks",
    "slot": "waits for a slot",
    "person": "asks a person: how far?",
}


def test_timeline_tells_five_waits_apart() -> None:
    queued, emitter = threading.Event(), EventEmitter()
    emitter.subscribe("call_queued", lambda event: queued.set())

    def solve(task: Task) -> str:
        assert queued.wait(30)  # until another call waits for the slot
        return f"{interrupt('how far?')}!" if task.id == "t.3" else str(task)

    graph = create_recursive_solver(
        solver=solve,
        decomposer=lambda task, depth: ["one", "two", SubTask("three", depends_on=[0, 1])] if depth == 0 else [],
        atomizer=lambda task, depth: depth == 1,
        policy=SolvePolicy(max_concurrency=1),
        checkpointer=InMemorySaver(),
    )
    config: RunnableConfig = {**CONFIG, "callbacks": [emitter]}
    asked = list(graph.stream("all", config, stream_mode="custom"))
    answered = list(graph.stream(Command(resume="9 m"), CONFIG, stream_mode="custom"))
    lanes = lanes_of([*asked, *answered])
    waits = {span.kind: span.told for lane in lanes.values() for span in lane.waits}
    assert {**waits, "slot": waits["slot"].partition(" ")[2]} == WAITS  # whichever call it was
    [person] = [span for span in lanes["t.3"].waits if span.kind == "person"]
    assert asked[-1]["time"] >= person.start
    assert person.end is not None
    assert person.end > asked[-1]["time"]
    [dependencies] = [span for span in lanes["t.3"].waits if span.kind == "dependencies"]
    assert dependencies.end == lanes["t.3"].attempts[0].start
    drawing = str(timeline([*asked, *answered]))
    assert all(f"<title>{told}</title>" in drawing for told in waits.values())
    for legend in ("waits for dependencies", "waits for sub-tasks", "waits for a slot", "waits for a person"):
        assert f">{legend}</text>" in drawing
    assert "asks a person: how far?" in str(timeline(asked))


def test_spans_lie_within_the_run(good: Seen, bad: Seen) -> None:
    for run in (good, bad):
        begin, end = run.events[0]["time"], run.events[-1]["time"]
        for lane in lanes_of(run.events).values():
            for span in (*lane.attempts, *lane.calls, *lane.waits):
                assert span.end is not None
                assert begin <= span.start <= span.end <= end


def test_timeline_of_a_run_that_was_cut_off(good: Seen) -> None:
    for end in range(1, len(good.events)):
        check_svg(str(timeline(good.events[:end])))
    half = len(good.events) // 2
    assert "not ended" in str(timeline(good.events[:half]))


def test_timeline_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no events"):
        timeline([])


def test_machine_marks_the_path_of_a_task(good: Seen, bad: Seen) -> None:
    whole = ["START", "admit", "decompose", "subtasks", "review", "aggregate", "verify", "END"]
    assert path_of(good.events) == whole
    once = ["solve", "verify", "recovery", "admit"]
    path = path_of(good.events, "t.2_fix_1")
    assert path == ["START", "admit", "decompose", *once, *once, "solve", "verify", "END"]
    assert path_of(bad.events, "t.1")[-3:] == ["verify", "recovery", "END"]
    assert path_of(bad.events)[-2:] == ["review", "END"]
    root = check_svg(str(machine_svg(path)))
    shown = [element.text for element in root.iter(f"{NAMESPACE}text")]
    assert "solve (3x)" in shown
    assert "next attempt (2x)" in shown


def test_machine_draws_every_edge_of_the_graph(good: Seen) -> None:
    root = check_svg(str(machine_svg()))
    shown = {element.text for element in root.iter(f"{NAMESPACE}text")}
    assert {name.replace("__start__", "START").replace("__end__", "END") for name in good.graph.get_graph().nodes} <= (
        shown
    )
    with pytest.raises(InvalidInputError, match="no node '<b>'"):
        machine_svg(["<b>"])


def test_notebook_draws_a_solver_without_network(good: Seen) -> None:
    shown = good.graph._repr_mimebundle_()
    assert shown == {"image/svg+xml": str(machine_svg()), "text/plain": repr(good.graph)}


def test_svg_is_written_to_a_file(tmp_path: Path) -> None:
    machine_svg().save(tmp_path / "machine.svg")
    assert (tmp_path / "machine.svg").read_text(encoding="utf-8") == str(machine_svg())


@pytest.mark.parametrize("seed", range(120))
def test_broken_events_are_drawn_or_refused(seed: int, good: Seen) -> None:
    chance = random.Random(seed)
    events = [{**event, "data": dict(event["data"])} for event in good.events]
    event = chance.choice(events)
    place = chance.choice([event, event["data"] or event])
    place[chance.choice(sorted(place))] = chance.choice([None, 1, -(2**70), "t.2", HOSTILE, [], ["x"], [[1, 2]], {}])
    with contextlib.suppress(InvalidInputError):
        tree = TaskTree.from_events(events)
        check_svg(str(tree.svg()))
        Tags(tree.html())
        assert tree.mermaid()
        assert str(tree)
    with contextlib.suppress(InvalidInputError):
        check_svg(str(timeline(events)))
    with contextlib.suppress(InvalidInputError):
        check_svg(str(machine_svg(path_of(events))))


@given(st.text())
def test_any_text_is_text_in_markup(text: str) -> None:
    element = ElementTree.fromstring(f'<a b="{markup(text)}">{markup(text)}</a>')
    assert not list(element)
    assert re.fullmatch(r"[^<>\"']*", markup(text))


@given(st.text())
def test_any_text_is_text_in_a_mermaid_label(text: str) -> None:
    assert re.fullmatch(r"(?:[^\W_]|[ .,:/+=!?-]|[^\x00-\x7f]|#\d+;)*", mermaid_label(text))
    assert not re.search(r"[\x00-\x1f\x7f]", mermaid_label(text + HOSTILE))
