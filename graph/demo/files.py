"""Reading order messages from a file."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from langgraph_recursive.state.errors import InvalidInputError

__all__ = ("MAX_MESSAGES", "MAX_MESSAGE_CHARS", "check_messages", "read_messages")

MAX_MESSAGES = 500
MAX_MESSAGE_CHARS = 1_000
_MAX_BYTES = 1_000_000


def read_messages(path: str | Path | None = None) -> list[str]:
    """Read order messages: one per line, or blocks of lines with blank lines between them.

    Args:
        path: A UTF-8 text file; None reads the messages that come with the package.

    Returns:
        The messages, without white space around them.

    Raises:
        InvalidInputError: The file cannot be read, is no text, holds no message or too many (500), or a message is
            too long (1,000 characters).
    """
    if path is None:
        text = (resources.files(__package__) / "messages.txt").read_text(encoding="utf-8")
    else:
        text = _decoded(Path(path))
    messages = _split(text)
    check_messages(messages, field="file")
    return messages


def _decoded(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(
            f"file {str(path)!r} cannot be read: {reason}", field="file", value=str(path)
        ) from error
    if len(data) > _MAX_BYTES:
        raise InvalidInputError(
            f"file {str(path)!r} is larger than {_MAX_BYTES} bytes: split it", field="file", value=str(path)
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"file {str(path)!r} is not UTF-8 text: byte {error.start} is {data[error.start]:#04x}",
            field="file",
            value=str(path),
        ) from error
    if "\0" in text:
        raise InvalidInputError(
            f"file {str(path)!r} is binary, not text: it holds NUL bytes", field="file", value=str(path)
        )
    return text


def _split(text: str) -> list[str]:
    # Only line feeds end a line here: `str.splitlines` also cuts at form feeds and other rarities inside a message.
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    blocks = re.split(r"\n[^\S\n]*\n", text)
    pieces = blocks if len(blocks) > 1 else text.split("\n")
    return [piece.strip() for piece in pieces if piece.strip()]


def check_messages(messages: list[str], *, field: str) -> None:
    """Check the number and the length of messages.

    Args:
        messages: The messages.
        field: Where they come from, for the error.

    Raises:
        InvalidInputError: There is none, there are too many, or one is empty or too long.
    """
    if not messages:
        raise InvalidInputError(f"{field} holds no message: write one order message a line", field=field)
    if len(messages) > MAX_MESSAGES:
        raise InvalidInputError(
            f"{field} holds {len(messages)} messages, at most {MAX_MESSAGES}: split it",
            field=field,
            value=len(messages),
        )
    for number, message in enumerate(messages, start=1):
        if not message.strip():
            raise InvalidInputError(f"message {number} is empty", field=field)
        if len(message) > MAX_MESSAGE_CHARS:
            raise InvalidInputError(
                f"message {number} has {len(message)} characters, at most {MAX_MESSAGE_CHARS}: "
                "write one message a line, or put a blank line between all messages",
                field=field,
                value=message,
            )
