"""Text from tasks and models, made safe to show: nothing in it can steer the terminal."""

from __future__ import annotations

import unicodedata

__all__ = ("clean", "one_line", "shortened", "visible")

_KEPT = "\n\t"
# Cc: C0 and C1 controls. Cf: marks that reorder or hide text. Cs: halves of a character. Zl, Zp: line ends.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINER = "\u200d"  # inside emoji


def visible(text: str) -> str:
    r"""Write control characters as escapes; line ends and tabs stay.

    Example:
        >>> visible("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    return "".join(map(_shown, text.replace("\r\n", "\n")))


def _shown(char: str) -> str:
    if char in _KEPT or char == _JOINER or unicodedata.category(char) not in _HIDDEN:
        return char
    return char.encode("unicode_escape").decode()


def one_line(text: str) -> str:
    """Like `visible`, on one line."""
    return visible(" ".join(text.split()))


def shortened(text: str, width: int) -> str:
    """Like `one_line`, cut to `width` characters."""
    line = one_line(text)
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def clean(text: str) -> str:
    """Replace what is no valid text, such as bytes on the command line that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
