"""Two runs to look at, each made once."""

from __future__ import annotations

import pytest

from langgraph_recursive.state import SubTask
from view_kit import HOSTILE, Seen, seen


@pytest.fixture(scope="module")
def good() -> Seen:
    """Accepted after two fixes of one child."""
    return seen(iter([[f"plain {HOSTILE}", f"repaired {HOSTILE}"]]))


@pytest.fixture(scope="module")
def bad() -> Seen:
    """A child stalls; what depends on it is never started."""
    return seen(iter([[SubTask("stalls"), SubTask("waits for it", depends_on=[0])]]))
