"""How tests run a command on a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
from collections.abc import Callable

__all__ = ("on_terminal", "without_codes")

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def without_codes(written: str) -> str:
    """What was written, without what steers the terminal."""
    return _CODES.sub("", written)


def on_terminal(
    arguments: list[str],
    environment: dict[str, str],
    rows: int = 40,
    columns: int = 100,
    on_text: Callable[[int, str], None] = lambda pid, written: None,
) -> tuple[int, str]:
    """Run a command on a terminal of its own; its exit code and all it wrote.

    Args:
        arguments: The command.
        environment: Its environment.
        rows: Lines of the terminal.
        columns: Columns of the terminal.
        on_text: Called with its process id and all it wrote so far, whenever that is more.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(arguments[0], arguments, {**environment, "TERM": "xterm-256color"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    written = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux's way to say that the other side is closed
            break
        if not chunk:
            break
        written += chunk
        on_text(pid, written.decode(errors="replace"))
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), written.decode()
