import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.repeat import failure_key, normalized, plain, repeats, verdict_key

# Real output of each tool: a first run, the same run again in another folder, the same defect a few lines further
# down, and another defect.
TAILS = Path(__file__).parent / "tails"
TOOLS = sorted(path.stem for path in TAILS.glob("*.txt"))
RUNNERS = [
    "cargo",
    "node_spec",
    "node_tap",
    "prove",
    "pytest",
    "pytest_short",
    "pytest_xdist",
    "unittest",
]
LOCATED = ["asan", "gcc", "gcc_abs", "java", "mypy", "ruff", "valgrind"]


def tail(tool: str, which: str) -> str:
    parts = re.split(r"^%%% (\w+)\n", (TAILS / f"{tool}.txt").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[which]


def test_there_are_enough_real_pairs() -> None:
    assert len(TOOLS) >= 20
    assert set(RUNNERS) | set(LOCATED) <= set(TOOLS)


@pytest.mark.parametrize("tool", TOOLS)
def test_same_defect_again(tool: str) -> None:
    first, again = tail(tool, "first"), tail(tool, "again")
    assert normalized(first) == normalized(again)


@pytest.mark.parametrize("tool", TOOLS)
def test_other_defect(tool: str) -> None:
    assert normalized(tail(tool, "first")) != normalized(tail(tool, "other"))


@pytest.mark.parametrize("tool", RUNNERS)
def test_failing_tests_repeat_on_other_lines(tool: str) -> None:
    assert normalized(tail(tool, "first")) == normalized(tail(tool, "shifted"))


@pytest.mark.parametrize("tool", LOCATED)
def test_line_numbers_count_outside_of_test_runners(tool: str) -> None:
    assert normalized(tail(tool, "first")) != normalized(tail(tool, "shifted"))


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("which", ["first", "again", "shifted", "other"])
def test_normalizing_real_output_twice_changes_nothing(tool: str, which: str) -> None:
    once = normalized(tail(tool, which))
    assert once
    assert normalized(once) == once


def test_what_stays_of_a_pytest_run() -> None:
    kept = normalized(tail("pytest", "first")).split("\n")
    assert "E assert 11 == 12" in kept
    assert "FAILED test_basket.py::test_total - assert 11 == 12" in kept
    assert "test_basket.py: AssertionError" in kept
    assert "3 failed" in kept


EQUAL = [
    ("1 row wrong in 0.12s", "1 row wrong in 10.3s"),
    ("took 12ms", "took 7 ms"),
    ("finished after 1m2.5s", "finished after 3m 59s"),
    ("elapsed 0:00:03", "elapsed 0:01:13"),
    ('<testcase name="a" time="0.003"/>', '<testcase name="a" time="1.25"/>'),
    ("[INFO] Total time:  1.234 s", "[INFO] Total time:  0.9 s"),
    ("2024-05-01T12:00:00.123Z start", "2024-05-02T01:59:00Z start"),
    ("2024/05/01 12:00:00 start", "2024/05/02 13:00:00 start"),
    ("Mon Jan  2 15:04:05 2006: no", "Tue Feb 13 01:02:03 2007: no"),
    ("Thu, 01 Jan 1970 00:00:00 GMT no", "Fri, 02 Jan 1970 01:00:00 GMT no"),
    ("Jan  2 15:04:05 host app[123]: no", "Jan  2 15:04:06 host app[456]: no"),
    ('[10/Oct/2000:13:55:36 -0700] "GET /"', '[11/Oct/2000:14:55:36 -0700] "GET /"'),
    ("<Job object at 0x7f558e2aac50>", "<Job object at 0x7f112e2aac51>"),
    ("java.lang.Object@7ad041f3", "java.lang.Object@1b28cdfa"),
    ("/tmp/tmpab12cd/a.c: no", "/tmp/tmpzz99xx/a.c: no"),
    ("/private/var/folders/zz/q1/T/tmpa1/a.c no", "/private/var/folders/zz/q1/T/tmpb2/a.c no"),
    (r"C:\Users\me\AppData\Local\Temp\tmpa1\a.c no", r"C:\Users\me\AppData\Local\Temp\tmpb2\a.c no"),
    ("'C:\\\\Users\\\\me\\\\Temp\\\\x1\\\\a.c' no", "'C:\\\\Users\\\\me\\\\Temp\\\\x2\\\\a.c' no"),
    ("in pytest-of-me/pytest-12/test_a0 no", "in pytest-of-me/pytest-13/test_a0 no"),
    ("/repo/.worktrees/fix-a/src/a.c: no", "/repo/.worktrees/fix-b/src/a.c: no"),
    ("pid 123 died", "pid 4567 died"),
    ("(node:123) Warning: slow", "(node:45) Warning: slow"),
    ("[12345] error: no", "[54321] error: no"),
    ("id 5dcf7410-75e7-4042-802a-78cbf594fa0c", "id 11111111-75e7-4042-802a-78cbf594fa0d"),
    ("no answer from localhost:54321", "no answer from localhost:43210"),
    ("branch t.2_fix_1 is red", "branch t.2 is red"),
    ("t_fix_1.3: no", "t_fix_2.3: no"),
    ("\x1b[31mred\x1b[0m\r\n", "red\n"),
    ("[... 120 characters dropped ...]", "[... 98 characters dropped ...]"),
    (
        "FAILED a.py::t - assert <Job object at 0x7f...\n1 failed, 3 passed in 0.1s",
        "FAILED a.py::t - assert <Job object at 0x7e1...\n1 failed, 4 passed in 0.1s",
    ),
    (
        "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Time elapsed: 0.04 s <<< FAILURE! -- in CalcTest\n"
        "[ERROR]   CalcTest.testAdd:12 expected: <12> but was: <11>",
        "[ERROR] Tests run: 4, Failures: 1, Errors: 0, Time elapsed: 1.3 s <<< FAILURE! -- in CalcTest\n"
        "[ERROR]   CalcTest.testAdd:19 expected: <12> but was: <11>",
    ),
    (
        "--- FAIL: TestTotal (0.00s)\n    basket_test.go:8: got 11, want 12\nFAIL",
        "--- FAIL: TestTotal (0.02s)\n    basket_test.go:9: got 11, want 12\nFAIL",
    ),
    (
        "FAIL ./a.test.js\n  ● adds\n    Expected: 12\n    Received: 11\n     3 | it()\n    > 4 | x\n"
        "      at Object.<anonymous> (a.test.js:4:9)\nTests:       1 failed, 1 total\nTime:        0.3 s",
        "FAIL ./a.test.js\n  ● adds\n    Expected: 12\n    Received: 11\n     5 | it()\n    > 6 | x\n"
        "      at Object.<anonymous> (a.test.js:6:9)\nTests:       1 failed, 2 passed, 3 total\nTime:        1 s",
    ),
]
DIFFER = [
    ("expected 12, got 11", "expected 12, got 13"),
    ("expected 0x1f, got 0x20", "expected 0x1f, got 0x21"),
    ("items[3]: wrong type", "items[4]: wrong type"),
    ("[404] not found", "[500] not found"),
    ("assert '2024-05-01' == '2024-05-02'", "assert '2024-05-01' == '2024-05-03'"),
    ("listening on localhost:8080", "listening on localhost:8081"),
    ("/tmp/tmpab12cd/a.c: no", "/tmp/tmpab12cd/b.c: no"),
    ("no /tmp/prices.txt", "no /tmp/names.txt"),
    ("version 1.2.3", "version 1.2.4"),
    ("a.py:12: error: no", "a.py:13: error: no"),
    ("exited with code 1.", "exited with code 2."),
    ("t.2 is red", "t.3 is red"),
    ("FAILED a.py::test_fix_1 - no", "FAILED a.py::test_fix_2 - no"),
    ("FAILED a.py::test[1] - no", "FAILED a.py::test[2] - no"),
    ("FAILED a.py::test_a\nE assert 'a.py:3'", "FAILED a.py::test_a\nE assert 'a.py:4'"),
    ("FAILED a.py::test_a\n3 failed in 1s", "FAILED a.py::test_a\n2 failed, 1 passed in 1s"),
    ("FAIL: a (m.T.a)\nAssertionError: http://h:80", "FAIL: a (m.T.a)\nAssertionError: http://h:81"),
    ("not ok 1 - total", "not ok 1 - names"),
    ("not ok 1", "not ok 2"),
    ("test tests::a ... FAILED\nboom 11", "test tests::a ... FAILED\nboom 13"),
    ("--- FAIL: TestA (0.0s)\n    a_test.go:8: got 11", "--- FAIL: TestA (0.0s)\n    a_test.go:8: got 13"),
    ("● one\n● two", "● one\n● three"),
    ("5 rows", "6 rows"),
    ("2024-05-01 12:00:00 [404] not found", "2024-05-01 12:00:00 [500] not found"),
    ("2024-05-01 12:00:00 ERROR items[13]: no", "2024-05-01 12:00:00 ERROR items[14]: no"),
    ("[ERROR]   CalcTest.testAdd:12 was: <11>", "[ERROR]   CalcTest.testAdd:12 was: <13>"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal(one: str, other: str) -> None:
    assert normalized(one) == normalized(other)


@pytest.mark.parametrize(("one", "other"), DIFFER)
def test_differ(one: str, other: str) -> None:
    assert normalized(one) != normalized(other)


FRAGMENTS = st.sampled_from(
    [part for pair in [*EQUAL, *DIFFER] for text in pair for part in [text, *text.split(" ")]]
    + ["0", "1.5", "_fix_1", "/", "\\", "t.1", "<tmp>", "<time>", "E", ">", "...", "[", "]"]
)
SPACES = st.sampled_from([" ", "  ", "\n", "\t", "\r\n"])
# Words stand apart: what is taken out may lay bare the edge of a word that clings to it.
WORDS = st.lists(st.tuples(FRAGMENTS, SPACES), max_size=12).map(lambda pairs: "".join(map("".join, pairs)))


@given(st.text())
@settings(deadline=None)
def test_any_text_can_be_normalized(text: str) -> None:
    assert normalized(text) == normalized(text)


@given(WORDS)
@settings(max_examples=200, deadline=None)
def test_normalizing_twice_changes_nothing(text: str) -> None:
    once = normalized(text)
    assert normalized(once) == once


@given(st.integers(0, 10**9), st.integers(0, 10**9))
@settings(max_examples=100, deadline=None)
def test_bare_numbers_stay(expected: int, got: int) -> None:
    text = f"expected {expected}, got {got}"
    assert normalized(text) == text
    assert text in normalized(f"FAILED a.py::test_a - {text}\nE AssertionError: {text}\n1 failed in 0.12s")


HOSTILE = [
    "1", "a", "/a", "\\", "::", "a::b ", "___a", "_ _ ", "= ", "\x1b[", "\x1b]", "t.1", "_fix_1", "a > ", "✖ ", "1,",
    " ", "\t", "12:34:", "2024-01-01T", "\n", "node:1:", "at x line 1 ", "<time> a ", "file://", "E ", "worktrees/",
    "0x", "[ERROR] a.", "1 failed, ", "== ", "pid ", "\ud800", "\0",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("width", [990, 200_000])
def test_hostile_text_takes_linear_time(unit: str, width: int) -> None:
    # A quadratic pattern would need minutes for this.
    text = unit * (200_000 // len(unit))
    lines = [text[start : start + width] for start in range(0, len(text), width)]
    once = normalized("FAILED a.py::test_a\n" + "\n".join(lines))
    assert once.count("FAILED a.py::test_a") == 1


def test_plain() -> None:
    link = "\x1b]8;;http://a\x1b\\a.c\x1b]8;;\x07"
    assert plain(f"\x1b[1;31m{link}\x1b[0m\r\nb\rc") == "a.c\nb\nc"


def failure(
    words: str = "no", *, code: str | None = None, severity: str = "blocker", evidence: str = "", task_id: str = "t"
) -> Failure:
    return Failure.model_validate(
        {
            "attempt": 1,
            "validator_id": "v",
            "check_id": "c",
            "severity": severity,
            "justification": words,
            "failure_code": code,
            "task_id": task_id,
            "evidence": [bounded(evidence)] if evidence else [],
        }
    )


def test_failure_code_stands_for_the_words() -> None:
    assert failure_key(failure("in these words", code="short")) == ("v", "blocker", "c", "short")
    assert failure_key(failure("a", code="short")) == failure_key(failure("b", code="short"))
    assert failure_key(failure("a", code="short")) != failure_key(failure("a", code="long"))


def test_evidence_counts_when_the_justification_does_not_quote_it() -> None:
    vague = [failure("tests failed", evidence=f"expected 12, got {got}") for got in (11, 13)]
    assert failure_key(vague[0]) != failure_key(vague[1])
    quoted = failure("tests failed: got 11 in 0.1s", evidence="got 11 in 0.1s")
    assert failure_key(quoted) == failure_key(failure("tests failed: got 11 in 0.2s"))


def test_own_id_of_a_named_root() -> None:
    one = failure("job-7_fix_1.2 is red", task_id="job-7_fix_1.2")
    other = failure("job-7_fix_1.2_fix_1 is red", task_id="job-7_fix_1.2_fix_1")
    assert failure_key(one) == failure_key(other)


def test_verdict_key_is_a_multiset_of_blockers() -> None:
    a, b, warning = failure("a"), failure("b"), failure("w", severity="warning")
    assert verdict_key([a, b, warning]) == verdict_key([b, a])
    assert verdict_key([a, a]) != verdict_key([a])
    assert verdict_key([warning]) == ()


A, B, W = [failure("a")], [failure("b")], [failure("w", severity="warning")]


@pytest.mark.parametrize(
    ("attempts", "window", "expected"),
    [
        ([], 1, None),
        ([A], 1, None),
        ([A, A], 1, 0),
        ([A, B], 1, None),
        ([A, B, A], 1, None),
        ([A, B, A], 2, 0),
        ([A, A, A], 9, 1),
        ([A, A], 0, None),
        ([A, A], -1, None),
        ([[], []], 1, None),
        ([W, W], 1, None),
        ([A + W, A], 1, 0),
        ([B, A, B, B], 3, 2),
    ],
)
def test_repeats(attempts: list[list[Failure]], window: int, expected: int | None) -> None:
    assert repeats(attempts, window) == expected
