"""Fences: how data of others is shown to a model, so that it cannot pass for instructions."""

from __future__ import annotations

import re

__all__ = ("fenced",)

_MARK = re.compile(r"<(?=[\s/\\]*quoted)", re.IGNORECASE)
_HARMLESS = r"<\\"
_NOT_PLAIN = re.compile(r"[^\w.-]")


def fenced(text: str, **attributes: str) -> str:
    """Mark a text as data. Whatever it holds, it cannot end its fence or open another one.

    Args:
        text: The data.
        attributes: What it is and where it comes from.
    """
    named = "".join(f' {name}="{_NOT_PLAIN.sub("_", value)}"' for name, value in attributes.items())
    return f"<quoted{named}>\n{_MARK.sub(_HARMLESS, text)}\n</quoted>"
