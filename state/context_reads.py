"""Context references: what was read of granted snapshots, and how much may still be."""

from __future__ import annotations

from collections.abc import Iterable

from ._model import Data
from .brief import ContextRef

__all__ = ("ContextRead", "chars_read", "ref_name")


class ContextRead(Data):
    """One read of a snapshot.

    Attributes:
        ref_id: The snapshot.
        version: Its version.
        offset: Where the read began, in characters.
        chars: How many characters were read.
        sha256: Hash of exactly those characters.
        attempt: Number of the attempt that read them.
    """

    ref_id: str
    version: str
    offset: int = 0
    chars: int
    sha256: str
    attempt: int = 1

    @property
    def ref(self) -> ContextRef:
        """The reference that was read."""
        return ContextRef(ref_id=self.ref_id, version=self.version)


def chars_read(reads: Iterable[ContextRead]) -> int:
    """Add up what was read; a text read twice counts twice."""
    return sum(read.chars for read in reads)


def ref_name(ref: ContextRef) -> str:
    """Write a reference for people and models."""
    return f"{ref.ref_id}@{ref.version}"
