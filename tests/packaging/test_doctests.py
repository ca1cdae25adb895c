"""Every example in a docstring runs. (pytest's own collection imports rooms under their bare names.)"""

import doctest
import importlib
import pkgutil

import pytest

ROOMS = ("state", "nodes", "graph")


def modules() -> list[str]:
    names = []
    for room in ROOMS:
        package = importlib.import_module(f"langgraph_recursive.{room}")
        names.append(package.__name__)
        names += [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [name for name in names if not name.endswith(".__main__")]


@pytest.mark.parametrize("name", modules())
def test_examples(name: str) -> None:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(name), optionflags=options).failed == 0
