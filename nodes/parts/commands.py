"""Commands as verifiers: an exit code is the verdict, and what the command printed is the evidence."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import math
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from langgraph_recursive.state.errors import ComponentError, InvalidInputError
from langgraph_recursive.state.evidence import EVIDENCE_CHARS, Evidence, bounded
from langgraph_recursive.state.repeat import plain
from langgraph_recursive.state.verdict import ValidationCheck, Verdict

__all__ = ("CommandValidator", "command_validator")

Cwd = str | os.PathLike[str] | Callable[[Any, Any], str | os.PathLike[str]]

_ID_CHARS = 80
_CHUNK = 1 << 16
# How long a command's leftover processes may still write once the command itself has ended.
_GRACE_SECONDS = 0.5
# Longest escape sequence held back until its end arrives.
_ESCAPE_CHARS = 4_200


def command_validator(
    argv: Sequence[str],
    *,
    cwd: Cwd | None = None,
    timeout: float | None = 300.0,
    env: Mapping[str, str] | None = None,
    stdin: bool = False,
    evidence_chars: int = EVIDENCE_CHARS,
    name: str | None = None,
    required: bool = True,
) -> CommandValidator:
    """Verify an answer by running a command, such as a project's tests: exit code 0 passes.

    The command runs without a shell. Its environment is this process's, with `env` on top and
    `LANGGRAPH_RECURSIVE_TASK_ID` and `LANGGRAPH_RECURSIVE_ATTEMPT`. A non-zero exit, a signal and the
    time-out are `failed`, and the justification quotes what the command printed; a command that cannot be
    started is an error, since it says nothing about the answer. Nothing that it starts outlives it.

    Args:
        argv: The command and its arguments, one text each.
        cwd: Where it runs, by default this process's folder. A function `(task, result) -> path` may first
            write the answer there, for instance into a worktree named by `task.id`.
        timeout: Seconds the command may take, with everything it starts; it is killed then. None is no limit.
        env: Environment variables to add.
        stdin: Whether the command reads the answer's text on standard input. Otherwise that is empty.
        evidence_chars: Characters kept of each of stdout and stderr, head and tail together.
        name: The validator's id, by default `command:` and the command line. Two validators need two names.
        required: Whether a failure rejects the answer. Otherwise it is a warning.

    Raises:
        ComponentError: `argv` is one text or holds something that is not a text.
        InvalidInputError: `argv` is empty, or `timeout` or `evidence_chars` is out of bounds.

    Example:
        >>> check = command_validator(["python", "-c", "raise SystemExit(3)"])
        >>> check.validator_id
        "command:python -c 'raise SystemExit(3)'"
    """
    return CommandValidator(
        _checked_argv(argv),
        cwd=cwd,
        timeout=_checked_timeout(timeout),
        env=env,
        stdin=stdin,
        evidence_chars=_checked_chars(evidence_chars),
        name=name,
        required=required,
    )


def _checked_argv(argv: Sequence[str]) -> tuple[str, ...]:
    if isinstance(argv, str | bytes):
        raise ComponentError(
            f"command_validator argv = {argv!r}: needs a list of texts, since no shell splits it; "
            f"use shlex.split({argv!r})",
            field="argv",
            value=argv,
        )
    words = tuple(argv)
    wrong = [word for word in words if not isinstance(word, str)]
    if wrong:
        raise ComponentError(
            f"command_validator argv holds {wrong[0]!r}: each word must be a text; use str(...), "
            "or shlex.split(...) to make the list from a command line",
            field="argv",
            value=words,
        )
    if not words or not words[0] or any("\0" in word for word in words):
        raise InvalidInputError(
            f"command_validator argv = {words!r}: needs a command, without NUL characters, "
            "such as shlex.split('pytest -q')",
            field="argv",
            value=words,
        )
    return words


def _checked_timeout(timeout: float | None) -> float | None:
    if timeout is not None and not (timeout > 0 and math.isfinite(timeout)):
        raise InvalidInputError(
            f"command_validator timeout = {timeout!r}: must be seconds above 0, or None for no limit",
            field="timeout",
            value=timeout,
        )
    return timeout


def _checked_chars(chars: int) -> int:
    if chars < 2:
        raise InvalidInputError(
            f"command_validator evidence_chars = {chars!r}: must be at least 2",
            field="evidence_chars",
            value=chars,
        )
    return chars


class CommandValidator:
    """A verifier that runs a command. Make it with `command_validator`.

    Attributes:
        argv: The command and its arguments.
        validator_id: Its name in verdicts.
    """

    calls_no_model = True

    def __init__(
        self,
        argv: tuple[str, ...],
        *,
        cwd: Cwd | None,
        timeout: float | None,
        env: Mapping[str, str] | None,
        stdin: bool,
        evidence_chars: int,
        name: str | None,
        required: bool,
    ) -> None:
        self.argv = argv
        line = shlex.join(argv)
        self.validator_id = name or "command:" + (line if len(line) <= _ID_CHARS else line[: _ID_CHARS - 3] + "...")
        self._cwd = cwd
        self._timeout = timeout
        self._env = tuple((env or {}).items())
        self._stdin = stdin
        self._chars = evidence_chars
        self._required = required

    def __repr__(self) -> str:
        cwd = "" if self._cwd is None else f", cwd={self._cwd!r}"
        return f"command_validator({list(self.argv)!r}{cwd}, timeout={self._timeout!r})"

    def __call__(self, task: Any, result: Any, attempt: int) -> Verdict:
        """Run the command on one answer.

        Args:
            task: The attempt; its `id` goes into the environment.
            result: The answer; its text goes to standard input if `stdin` is set.
            attempt: The attempt's number.
        """
        cwd = self._cwd(task, result) if callable(self._cwd) else self._cwd
        ids = {
            "LANGGRAPH_RECURSIVE_TASK_ID": str(getattr(task, "id", "")),
            "LANGGRAPH_RECURSIVE_ATTEMPT": str(attempt),
        }
        if cwd is not None and not os.path.isdir(cwd):
            return self._error(f"the folder to run in, {os.fspath(cwd)!r}, does not exist")
        try:
            child = _start(self.argv, cwd, {**os.environ, **dict(self._env), **ids}, self._stdin)
        except OSError as error:
            return self._error(_why_not(self.argv[0], error))
        try:
            output = _Output(child, self._chars)
            code = _outcome(child, output, str(result) if self._stdin else None, self._timeout)
        except BaseException:  # a Ctrl-C may come at any moment, and must leave nothing running
            _kill_group(child)
            raise
        return self._verdict(self._said(code), code == 0, output.evidence())

    @property
    def _line(self) -> str:
        return self.validator_id.removeprefix("command:")

    def _error(self, why: str) -> Verdict:
        error = f"`{self._line}` could not run: {why}"
        return Verdict(error=error, feedback=error)

    def _said(self, code: int | None) -> str:
        if code is None:
            return f"`{self._line}` timed out: it did not end within {self._timeout:g} s and was killed."
        if code < 0:
            return f"`{self._line}` was killed by signal {_signal_name(-code)}."
        return f"`{self._line}` exited with code {code}."

    def _verdict(self, said: str, passed: bool, evidence: list[Evidence]) -> Verdict:
        if not passed:
            quoted = [f"{e.label}:\n{e.text}" for e in evidence] or ["It printed nothing."]
            said = "\n\n".join([said, *quoted])
        check = ValidationCheck(
            check_id="exit_code",
            status="passed" if passed else "failed",
            required=self._required,
            justification=said,
            evidence=evidence,
            validator_id=self.validator_id,
        )
        return Verdict(checks=[check], feedback=said)


def _start(
    argv: Sequence[str], cwd: str | os.PathLike[str] | None, env: Mapping[str, str], stdin: bool
) -> subprocess.Popen[bytes]:
    # A session of its own makes a process group that can be killed as a whole.
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def _why_not(command: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"the command {command!r}, or the interpreter its first line names, was not found"
    if isinstance(error, PermissionError):
        return f"the file {command!r} is not executable"
    return f"the system cannot execute {command!r}: {error.strerror or error}"


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return str(number)


def _outcome(child: subprocess.Popen[bytes], output: _Output, text: str | None, timeout: float | None) -> int | None:
    """Wait for a command to end, and leave nothing of it running.

    Returns:
        Its exit code, negative for a signal; None when it did not end in time.
    """
    # `Popen.wait` polls when it has a time-out; joining a thread that waits without one does not.
    waiter = _thread(child.wait)
    writer = _thread(_write, child.stdin, text) if child.stdin is not None else None
    try:
        waiter.join(timeout)
        in_time = not waiter.is_alive()
        if in_time:
            output.join(_GRACE_SECONDS)
    finally:
        _kill_group(child)
    waiter.join()
    # Only a process that left the group can still hold these open. It is not waited for.
    output.join(_GRACE_SECONDS)
    if writer is not None:
        writer.join(_GRACE_SECONDS)
    return child.returncode if in_time else None


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    else:  # Windows has no process groups that can be killed.
        child.kill()


def _write(pipe: IO[bytes], text: str) -> None:
    # A command need not read its input.
    with contextlib.suppress(OSError), pipe:
        left = memoryview(text.encode("utf-8", "replace"))
        while left:
            left = left[pipe.write(left) :]


def _thread(function: Callable[..., object], *args: object) -> threading.Thread:
    thread = threading.Thread(target=function, args=args, daemon=True, name="command_validator")
    thread.start()
    return thread


class _Output:
    """What a command prints, read while it runs so that it never blocks."""

    def __init__(self, child: subprocess.Popen[bytes], chars: int) -> None:
        pipes = {"stdout": child.stdout, "stderr": child.stderr}
        self._captures = {name: _Capture(name, chars) for name in pipes}
        self._readers = [_thread(_read, pipe, self._captures[name]) for name, pipe in pipes.items()]

    def join(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for reader in self._readers:
            reader.join(max(0.0, deadline - time.monotonic()))

    def evidence(self) -> list[Evidence]:
        found = [capture.evidence() for capture in self._captures.values()]
        return [evidence for evidence in found if evidence.size]


def _read(pipe: IO[bytes], capture: _Capture) -> None:
    with pipe:
        while chunk := pipe.read(_CHUNK):
            capture.feed(chunk)
        capture.feed(b"", final=True)


class _Capture:
    """The head and tail of a stream, with its size and hash, in memory that does not grow with it.

    What it says is what `bounded` says of the whole text, decoded and without terminal codes.
    """

    def __init__(self, label: str, limit: int) -> None:
        self._label = label
        self._limit = limit
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._held = ""
        self._head = ""
        self._tail = ""
        self._size = 0
        self._hash = hashlib.sha256()
        # A reader that was given up on may still be feeding.
        self._lock = threading.Lock()

    def feed(self, chunk: bytes, *, final: bool = False) -> None:
        text = self._held + self._decode(chunk, final).replace("\0", "\ufffd")
        end = len(text) if final else _whole(text)
        self._held, text = text[end:], plain(text[:end])
        with self._lock:
            self._head += text[: self._limit - len(self._head)]
            self._tail = (self._tail + text)[-self._limit :]
            self._size += len(text)
            self._hash.update(text.encode("utf-8", "surrogatepass"))

    def evidence(self) -> Evidence:
        with self._lock:
            if self._size <= self._limit:
                return bounded(self._head, label=self._label, limit=self._limit)
            # Longer than the limit, so it is cut at the same places as the whole text.
            cut = bounded(self._head + self._tail, label=self._label, limit=self._limit)
            return cut.model_copy(update={"size": self._size, "sha256": self._hash.hexdigest()})


def _whole(text: str) -> int:
    """Where the last escape sequence or line end begins that the next chunk may complete."""
    near = max(0, len(text) - _ESCAPE_CHARS)
    for start in (text.rfind("\x1b]", near), text.rfind("\x1b", near)):
        if start >= 0 and plain(text[start:]) == text[start:]:
            return start
    return len(text) - text.endswith("\r")
