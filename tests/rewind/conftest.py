from __future__ import annotations

import pytest

from rewind_kit import Work


@pytest.fixture
def work() -> Work:
    return Work()
