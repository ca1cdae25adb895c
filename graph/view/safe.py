"""Text from tasks and models, made safe to show: nothing in it can steer the terminal."""

from __future__ import annotations

import html
import re
import unicodedata

__all__ = ("cells", "clean", "markup", "mermaid_label", "one_line", "shortened", "visible")

_KEPT = "\n\t"
# Cc: C0 and C1 controls. Cf: marks that reorder or hide text. Cs: halves of a character. Zl, Zp: line ends.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_NO_XML = re.compile("[\ufffe\uffff]")
_PLAIN_IN_MERMAID = " .,:/+=!?-"
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


def cells(text: str) -> int:
    """How many columns of a terminal a text takes.

    Example:
        >>> cells("abc"), cells("日本")
        (3, 4)
    """
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def clean(text: str) -> str:
    """Replace what is no valid text, such as bytes on the command line that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def markup(text: str) -> str:
    """Write a text so that it is text in HTML and SVG, also inside an attribute.

    Example:
        >>> markup("<b>'x' & y")
        '&lt;b&gt;&#x27;x&#x27; &amp; y'
    """
    return _NO_XML.sub("\ufffd", html.escape(visible(text)))


def mermaid_label(text: str) -> str:
    """Write a text for a Mermaid label in double quotes: what could mean something there is written as its code.

    Example:
        >>> mermaid_label('say "hi"')
        'say #34;hi#34;'
    """
    return "".join(
        char if char.isalnum() or char in _PLAIN_IN_MERMAID or ord(char) > 127 else f"#{ord(char)};"
        for char in one_line(text)
    )
