"""Context references: what was read of granted snapshots, and how much may still be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ._model import Data
from .brief import ContextRef

__all__ = ("ContextRead", "chars_read", "distinct_reads", "ref_name", "renumbered_reads")


class ContextRead(Data):
    """One read of a snapshot.

    Attributes:
        id: Its own id. A task that is revised or rewound is stored in several places, and each read counts once.
        ref_id: The snapshot.
        version: Its version.
        offset: Where the read began, in characters.
        chars: How many characters were read.
        sha256: Hash of exactly those characters.
        attempt: Number of the attempt that read them.
    """

    id: str
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


def distinct_reads(reads: Iterable[ContextRead]) -> list[ContextRead]:
    """Keep each read once, as it is told last."""
    return list({read.id: read for read in reads}.values())


def renumbered_reads(reads: Sequence[ContextRead], attempt: int, new: int) -> list[ContextRead]:
    """Take the reads of an attempt along when a rewind gives it another number: its answer still rests on them."""
    return [read.model_copy(update={"attempt": new}) if read.attempt == attempt else read for read in reads]


def ref_name(ref: ContextRef) -> str:
    """Write a reference for people and models."""
    return f"{ref.ref_id}@{ref.version}"
