"""Task ids: stable, unique per attempt, and safe as a path and as a git ref.

`t` is the root, `t.2` its second child, `t.2_fix_1` that child's first fix, `t.2_fix_1.1` a child of the fix.
"""

from __future__ import annotations

import re

from .errors import InvalidInputError

__all__ = ("ROOT_ID", "check_root_id", "child_id", "fix_id", "is_plain_name", "is_under", "root_ref")

ROOT_ID = "t"
_ROOT = re.compile(r"[A-Za-z0-9-]{1,40}\Z")
_PLAIN = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z")
_FIX = re.compile(r"_fix_\d+\Z")


def check_root_id(task_id: str) -> str:
    """Return a caller's root id unchanged.

    Raises:
        InvalidInputError: It is not 1 to 40 letters, digits and hyphens.
    """
    if not isinstance(task_id, str) or not _ROOT.match(task_id):
        raise InvalidInputError(
            f"task id {task_id!r}: use 1 to 40 letters, digits and hyphens, so that it is safe as a path and git ref",
            field="id",
            value=task_id,
        )
    return task_id


def child_id(parent_id: str, number: int) -> str:
    """Name child `number` (from 1, never reused within an attempt) of a parent's attempt."""
    return f"{parent_id}.{number}"


def fix_id(root_task_ref: str, number: int) -> str:
    """Name fix `number` (from 1) of a recovery chain (ADR 021, decision 4): linear, so it never nests."""
    return f"{root_task_ref}_fix_{number}"


def root_ref(task_id: str) -> str:
    """Return the first task of the recovery chain an id belongs to: `t.2_fix_1` gives `t.2`."""
    return _FIX.sub("", task_id)


def is_under(task_id: str, ancestor: str) -> bool:
    """Tell whether an id is `ancestor`, one of its fixes, or in the tree below either."""
    return task_id == ancestor or task_id.startswith((f"{ancestor}.", f"{ancestor}_fix_"))


def is_plain_name(text: str) -> bool:
    """Whether a text is the plain name of an artifact or snapshot: at most 128 letters, digits and `.`, `_`, `:`, `-`.

    So never a path: no slash, no `..`, nothing hidden.
    """
    return _PLAIN.match(text) is not None
