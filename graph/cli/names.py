"""Short readable names for threads."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ("new_name",)

_FIRST = """
    amber brave brisk calm clear cosy crisp deep early fair fond fresh gentle glad golden green keen kind light
    lively lucky mild neat noble patient plain proud quick quiet ready silver slow smooth snug soft solid spry
    steady still sunny swift tidy warm wise
"""
_SECOND = """
    alder badger beaver birch brook cedar crane creek curlew dune elm falcon fern finch fjord glade hare harbor
    hazel heron hill island juniper lake lark linden lynx maple marten meadow moss oak otter owl pine plover raven
    reed ridge river robin rowan seal spruce stone swan thrush willow wren
"""


def new_name(taken: Callable[[str], bool]) -> str:
    """A name such as `calm-otter-42` that is not taken."""
    chance = random.SystemRandom()
    while True:
        name = f"{chance.choice(_FIRST.split())}-{chance.choice(_SECOND.split())}-{chance.randrange(10, 100)}"
        if not taken(name):
            return name
