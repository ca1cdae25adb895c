r"""Repeats: tell whether an attempt failed as an earlier one did (ADR 021, decision 5).

Two verdicts are compared by their blockers' keys. A key is the judge's own failure code, or else the
justification with what varies by itself taken out: durations, timestamps, addresses, temporary and worktree
paths, pids, uuids, ephemeral ports and the attempt's own id. A bare number stays: it may be the defect.

>>> normalized("1 row wrong in 0.12s") == normalized("1 row wrong in 0.31s")
True
>>> normalized("expected 12, got 11") == normalized("expected 12, got 13")
False

What a test runner prints is reduced further, to what tells which tests fail and how: stack frames, source
excerpts, line numbers, passing tests and progress go, and order does not count. A missed repeat costs one
attempt and a false one ends the recovery, so a line that is not known to be noise stays.

All patterns scan in linear time: quantifiers are bounded, or a run of characters starts only once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .failure import Failure
from .ids import ROOT_ID

__all__ = ("failure_key", "normalized", "plain", "repeats", "verdict_key")

_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[@-Z\\^_])")


def plain(text: str) -> str:
    """Take out terminal colours and links, and make every line end a line feed."""
    return _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


# What varies by itself.

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},?[ ]"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
_ZONE = r"(?:[ ]?(?:Z|UTC|GMT|CES?T|[ECMP][SD]T|[+-]\d\d:?\d\d)(?!\w))?"
_NUMBER = r"(?<![\w.,])\d[\d.,]{0,24}(?:e[-+]?\d{1,3})?"

_VARYING = re.compile(
    rf"""
    (?P<dropped>\[\.\.\.[ ]\d{{1,15}}[ ]characters[ ]dropped[ ]\.\.\.\])
  | (?P<uuid>(?<![0-9A-Za-z])[0-9A-Fa-f]{{8}}(?:-[0-9A-Fa-f]{{4}}){{3}}-[0-9A-Fa-f]{{12}}(?![0-9A-Za-z]))
  | (?P<time>
        (?<!\d)\d{{4}}[-/]\d\d[-/]\d\d[T ][ ]?\d\d:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?{_ZONE}
      | (?<!\w)\d{{8}}T\d{{6}}(?:\.\d{{1,9}})?Z?(?!\w)
      | (?<!\w)(?:{_DAY})?(?:\d{{1,2}}[ ]{_MONTH}|{_MONTH}[ ]{{1,2}}\d{{1,2}}),?[ ](?:\d{{4}}[ ])?{_CLOCK}
        {_ZONE}(?:[ ]\d{{4}}(?!\d))?
      | (?<!\d)\d\d/{_MONTH}/\d{{4}}:\d\d:\d\d:\d\d{_ZONE}
      | (?<![\d/])\d{{1,2}}/\d{{1,2}}/\d{{2,4}},?[ ]\d{{1,2}}:\d\d(?::\d\d)?(?:[ ][AP]M)?
      | (?<![\w.:]){_CLOCK}(?:[ ]?[AP]M)?(?![\w:])
    )
  | (?P<duration>
        {_NUMBER}(?:[ ]?(?:ns|[µμ]s|ms|msecs?|milliseconds?|secs?|seconds?|mins|minutes?|hours?|hrs?)|us|s)
        (?!\w)
      | (?<![\w.,])\d{{1,12}}\.\d{{1,12}}[ ]s(?!\w)
      | (?<![\w.])\d{{1,4}}h[ ]?\d{{1,2}}m(?:[ ]?\d{{1,2}}(?:\.\d{{1,9}})?s)?(?!\w)
      | (?<![\w.])\d{{1,4}}m[ ]?\d{{1,2}}(?:\.\d{{1,9}})?s(?!\w)
      | (?i:(?<![a-z])(?:duration|elapsed|time)_(?:ns|us|ms|s|sec|seconds))["']?[ ]?[=:]?[ ]?["']?
        \d{{1,15}}(?:\.\d{{1,15}})?
      | (?i:(?<![a-z])(?:duration|elapsed|took))["']?[ ]?[=:]?[ ]?["']?\d{{1,15}}\.\d{{1,15}}
      | (?<![a-z])time="\d{{1,15}}\.\d{{1,15}}"
    )
  | (?P<address>
        (?<![0-9A-Za-z])0x[0-9A-Fa-f]{{9,16}}(?![0-9A-Za-z])
      | (?:(?<!\w)(?i:at|by|address|addr|pc|sp|bp)[ ]|@[ ]?|\#\d{{1,3}}[ ]{{1,2}})
        0x[0-9A-Fa-f]{{4,16}}(?![0-9A-Za-z])
      | (?<=[\w\]])@(?=\d{{0,8}}[a-f])(?=[a-f]{{0,8}}\d)[0-9a-f]{{5,8}}(?![\w.@-])
    )
  | (?P<pid>
        (?i:(?<![a-z])pid)["']?[ ]?[:=\#]?[ ]?\d{{1,8}}(?!\w)
      | ==\d{{2,8}}==
      | ^\[\d{{4,7}}\](?=[ ][A-Za-z])
      | \(node:\d{{1,8}}\)
      | (?<='[ ])\(\d{{2,8}}\)(?=[ ]panicked)
      | (?i:(?<![a-z])process[ ](?:id[ ])?)\d{{3,8}}(?=[ ](?:exited|terminated|was|died|killed|finished))
    )
  | (?P<port>(?<![\w.])(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):
        (?:3276[89]|327[7-9]\d|32[89]\d\d|3[3-9]\d{{3}}|[45]\d{{4}}|6[0-5]\d{{3}})(?!\d))
  | (?P<build>(?<=-)[0-9a-f]{{16}}(?!\w))
  | (?P<tmp>pytest-of-[\w.-]{{1,64}}[/\\]{{1,2}}pytest-\d{{1,6}}(?!\w))
    """,
    re.VERBOSE | re.MULTILINE | re.ASCII,
)
# A pid in brackets is one only behind a timestamp, and not with few digits: it may be an index or a status.
_LOGGED_PID = re.compile(
    r"(<time>[ ,](?:(?:[\w./-]{1,64} ){0,2}[\w./-]{1,64}(?=\[\d{3})|(?:[\w./-]{1,64} ){0,2}(?=\[\d{4})))\[\d{3,8}\]",
    re.ASCII,
)

_PATH = re.compile(r"(?<![\w.~/\\>-])(?:file://)?(?:[A-Za-z]:)?[/\\][^\s\"'`<>|*?:;,()\[\]{}]+", re.ASCII)
_TEMP = re.compile(
    r"(?:file://)?(?:/private)?/(?:(?:var/|usr/)?tmp|dev/shm|var/folders/[^/]+/[^/]+/\w+)(?=/)"
    r"|(?:file://)?/?[A-Za-z]:/(?:[^/]+/){0,8}?te?mp(?=/)",
    re.IGNORECASE | re.ASCII,
)
_WORKTREES = re.compile(r"/\.?worktrees?(?=/)", re.ASCII)
_RUN_DIR = re.compile(r"/pytest-of-[^/]+(?:/pytest-\d+)?(?:/popen-gw\d+)?(?=/|$)|/[^/]+", re.ASCII)
# A file made by name right under the temporary folder, not one with a random name.
_NAMED_FILE = re.compile(r"/(?!tmp|cc)[a-z][a-z_-]*\.[a-z]{1,5}\Z", re.ASCII)


def normalized(text: str) -> str:
    """Take out what varies by itself; of a test runner's output keep what tells which tests fail and how.

    Args:
        text: Any text.

    Returns:
        A text to compare with others, not to show.
    """
    return _normalized(text, ROOT_ID)


def _normalized(text: str, root: str) -> str:
    text = "\n".join(map(_tidy, plain(text).split("\n")))
    text = _PATH.sub(_shortened, text)
    text = _fix_ids(root).sub(_chain, text)
    text = _VARYING.sub(lambda match: f"<{match.lastgroup}>", text)
    lines = _LOGGED_PID.sub(r"\1[<pid>]", text).split("\n")
    if any(len(line) <= _LINE_CHARS and _RUNNER.match(line) for line in lines):
        return "\n".join(sorted(set(_essence(lines))))
    return "\n".join(lines).strip("\n")


def _shortened(match: re.Match[str]) -> str:
    """Take off a temporary or worktree root, and the folder below it, whose name is made up each time."""
    path = match[0].replace("\\\\", "/").replace("\\", "/")
    root = _WORKTREES.search(path) or _TEMP.match(path)
    if root is None:
        return match[0]
    rest = path[root.end() :]
    return "<tmp>" + (rest if _NAMED_FILE.match(rest) else _RUN_DIR.sub("", rest, count=1))


def _fix_ids(root: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9.]){re.escape(root)}(?:\.\d{{1,9}}|_fix_\d{{1,9}})+(?!\w)", re.ASCII)


def _chain(match: re.Match[str]) -> str:
    """Every fix of a chain counts as its first attempt, so that each attempt's own id reads the same."""
    return re.sub(r"_fix_\d+", "", match[0])


def _tidy(line: str) -> str:
    """Make columns alike, since they shift with the width of what varies; indentation does not."""
    body = line.lstrip(" ")
    return line[: len(line) - len(body)] + re.sub(r"[ \t]+", " ", body).rstrip() if body.strip() else ""


# What test runners print. Each pattern sees one line, from its start, with what varies already taken out.

_PYTHON_RUNNER = re.compile(
    r"""
    (?:FAILED|ERROR)[ ]\S+(?:::|\.py\b)             # pytest's summary
  | _{3,}[ ](?=\S).*[^_]_{3,}$                       # pytest's heading of one failure
  | [^\s:]+::\S+[ ](?:FAILED|ERROR)\b               # pytest -v
  | \[gw\d+\][ ](?:\[[ ]?\d+%\][ ])?(?:FAILED|ERROR)[ ]
  | (?:FAIL|ERROR):[ ]\S+[ ]\(\S+\)                 # unittest
    """,
    re.VERBOSE,
)
_RUNNER = re.compile(
    rf"""(?:{_PYTHON_RUNNER.pattern}
  | [ ]*---[ ]FAIL:[ ]\S | FAIL[ ]\S+[ ](?:<duration>|\[)      # go
  | test[ ]\S.*[ ]\.\.\.[ ]FAILED$                  # cargo
  | FAIL[ ]+\S+\.(?:test|spec)\.[cm]?[jt]sx?\b      # jest, vitest
  | [ ]*[✖✗✕✘\u00d7][ ].*\(<duration>\)$ | ✖[ ]failing[ ]tests:               # node, jest
  | [ ]*\d+[ ]failing$                              # mocha
  | [ ]*not[ ]ok\b                                  # TAP
  | \#[ ]+Failed[ ]test\b                           # Test::More
  | \[ERROR\][ ].*<<<[ ](?:FAILURE|ERROR)! | \[ERROR\][ ](?:Tests[ ]run|Failures):  # surefire
  | [^>]+[ ]>[ ].*[ ]FAILED$                        # gradle
  | \[[ ]+FAILED[ ]+\][ ]                           # googletest
  | rspec[ ]\./\S+                                  # rspec
  | FAIL:[ ]\S+$                                    # automake
  )""",
    re.VERBOSE,
)
_PYTHON_SOURCE = re.compile(r" {4}|>|[ ]+File \"|\s*[~^][ ~^]*$")
_NOISE = re.compile(
    r"""
    \s*$
  | [.FEsxXPp]+(?:[ ]\[[ ]?\d+%\])?$ | \S+\.py[ ][.FEsxXPp]+(?:[ ]\[[ ]?\d+%\])?$       # progress
  | [ ]*(?:ok\b|[✔✓√]|PASS\b|PASSED\b|---[ ]PASS|1\.\.\d+$|TAP[ ]version|---$|\.\.\.$)
  | ===[ ](?:RUN|PAUSE|CONT|NAME)\b
  | test[ ].*[ ]\.\.\.[ ](?:ok|ignored)\b | [^\s:]+::\S+[ ](?:PASSED|SKIPPED|XFAIL)\b
  | \[gw\d+\][ ](?:\[[ ]?\d+%\][ ])?(?:PASSED|SKIPPED|XFAIL|linux|darwin|win32)\b
  | (?:=+|-+|(?:_[ ])+_?)$ | =+[ ](?!.*\b(?:failed|errors?)\b).*[ ]=+$                  # rulers
  | (?:platform|rootdir:|configfile:|plugins:|cachedir:|testpaths:|asyncio:|collecting|collected)[ ]
  | created:[ ]\d+/ | \d+[ ]workers?[ ] | gw\d | scheduling[ ]tests
  | Ran[ ]\d+[ ]tests?[ ] | running[ ]\d+[ ]tests?$
  | [ ]*(?:\u2139|\#)[ ](?:tests|suites|pass|cancelled|skipped|todo|<duration>|Subtest:)
  | (?:Snapshots|Time):[ ] | Files=\d+,[ ]Tests= | \[INFO\] | <duration>$
  | [ ]*(?:Compiling|Finished|Running)[ ]                                               # cargo
  | [ ]*at[ ] | [ ]+\d+:[ ]\S | [ ]*(?:>[ ])?\d*[ ]\| | [ ]*location:[ ]  # frames, excerpts
  | [ ].*[ ]\+0x[0-9a-f]+$
  | (?!E[ ]).*(?:node:[\w/]+|\.[A-Za-z]{1,5}):\d+:\d+\)?,?(?:[ ]\{)?$
  | [ ]*<duration>$ | [ ]*not[ ]ok[ ].*\#[ ]?(?:TODO|SKIP)\b
    """,
    re.VERBOSE,
)
_CAPTURED = re.compile(r"-{3,} Captured (?:stdout|stderr|log) \w+ -{3,}$")
_SECTION = re.compile(r"(?:[=_-]{3,}|FAILED|ERROR)[ ]")
_SOURCES = (
    r"(?:pyi?|pyx|[cm]?[jt]sx?|rs|go|java|kt|scala|cc?|cpp|cxx|hh?|hpp"
    r"|rb|php|cs|swift|exs?|t|pl|pm|sh|lua|dart|zig|vue)"
)
_LINE_NUMBER = re.compile(rf"(\.{_SOURCES}):\d+(?::\d+)?|(, line|\(line|\bat \S{{1,200}} line) \d+(?!\w)")
_SUREFIRE_LINE = re.compile(r"(\[ERROR\] [\w.$]{1,300}):\d+")
_SUREFIRE_COUNTS = re.compile(r"Tests run: \d+, |,? Time elapsed: <duration>")
_PLACE = re.compile(r"\A\[gw\d+\] (?:\[ ?\d+%\] )?| ?\[ ?\d+%\]\Z")
# pytest cuts its summary to the terminal, maybe inside an address or a temporary path.
_CUT_WORD = re.compile(r" \S*\.\.\.\Z")
_TAP_NUMBER = re.compile(r"\A( *not ok) \d+(?= - )")
_HEADING = re.compile(r"_{3,} (.*[^_ ]) _{3,}\Z")
_SUMMARY = re.compile(r"(?:=+ )?\d+ \w+(?:, .*)? in <duration>|Tests: |Test Suites: |test result: ")
_COUNTS = re.compile(r"\b\d+ (?:failed|failing|failures?|errors?)\b")
# Longer lines are data. Keeping them whole bounds what one pattern can cost.
_LINE_CHARS = 1_000


def _essence(lines: Sequence[str]) -> list[str]:
    python = any(len(line) <= _LINE_CHARS and _PYTHON_RUNNER.match(line) for line in lines)
    kept = []
    captured = False
    for line in lines:
        # What a test printed is between pytest's headings. It may hold anything.
        captured = bool(_CAPTURED.match(line)) or (captured and not _SECTION.match(line))
        if not captured and not _is_noise(line, python):
            kept.append(line if len(line) > _LINE_CHARS else _unplaced(line))
    return kept


def _is_noise(line: str, python: bool) -> bool:
    if len(line) > _LINE_CHARS:
        return False
    return bool(_NOISE.match(line) or (python and _PYTHON_SOURCE.match(line)))


def _unplaced(line: str) -> str:
    """Take out where in a file and in a run a line comes from, and how many tests passed."""
    if _SUMMARY.match(line):
        return ", ".join(_COUNTS.findall(line)) or line
    line = _TAP_NUMBER.sub(r"\1", _PLACE.sub("", line))
    line = _CUT_WORD.sub(" ...", line) if line.startswith(("FAILED ", "ERROR ")) else line
    line = _HEADING.sub(r"___ \1 ___", line)
    line = _SUREFIRE_COUNTS.sub("", _SUREFIRE_LINE.sub(r"\1", line))
    # In the lines of an assertion `a.py:12` may be the value itself.
    if line.startswith("E ") and 'File "' not in line:
        return line
    return _LINE_NUMBER.sub(r"\1\2", line)


# Keys and repeats.


def failure_key(failure: Failure) -> tuple[str, ...]:
    """Name what went wrong, the same for two attempts that failed the same way.

    Evidence counts only as far as the justification does not quote it: a justification such as "tests failed"
    says too little to prove that nothing changed.

    Args:
        failure: A failed check.

    Returns:
        Validator, severity, check id, and the failure code or else the normalized justification and evidence.
    """
    what = failure.failure_code or _words(failure)
    return (failure.validator_id, failure.severity, failure.check_id, what)


def _words(failure: Failure) -> str:
    texts = [failure.justification]
    texts += [e.text for e in failure.evidence if e.text.strip() not in failure.justification]
    root = re.match(r"[A-Za-z0-9-]*", failure.task_id)
    name = root[0] if root and root[0] else ROOT_ID
    return "\n".join(_normalized(text, name) for text in texts)


def verdict_key(failures: Sequence[Failure]) -> tuple[tuple[str, ...], ...]:
    """Name what an attempt's blockers were: the multiset of their keys. Warnings stay out (rules.md 18)."""
    return tuple(sorted(failure_key(failure) for failure in failures if failure.severity == "blocker"))


def repeats(attempt_failures: Sequence[Sequence[Failure]], window: int) -> int | None:
    """Find the attempt whose verdict the newest one repeats.

    Args:
        attempt_failures: The failures of each attempt, in order; the last is the newest.
        window: How many attempts to look back: 1 is the previous one only, 2 finds A-B-A, 0 finds nothing.

    Returns:
        Index in `attempt_failures` of the nearest attempt with the same verdict, or None. An attempt without
        blockers repeats nothing.
    """
    if window < 1 or len(attempt_failures) < 2:
        return None
    newest = verdict_key(attempt_failures[-1])
    if not newest:
        return None
    last = len(attempt_failures) - 1
    for index in range(last - 1, max(last - 1 - window, -1), -1):
        if verdict_key(attempt_failures[index]) == newest:
            return index
    return None
