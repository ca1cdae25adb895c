"""Evidence: what a validator saw, bounded."""

from __future__ import annotations

from ._model import Data, sha256

__all__ = ("EVIDENCE_CHARS", "Evidence", "bounded")

EVIDENCE_CHARS = 4_000


class Evidence(Data):
    """The head and tail of a text, with what it takes to know the whole again.

    Attributes:
        label: Where it comes from, such as `stdout`.
        head: Its beginning, or all of it.
        tail: Its end, empty when nothing was cut.
        size: Length of the whole in characters.
        sha256: Hash of the whole.
        truncated: Whether something between head and tail was dropped.
    """

    label: str = ""
    head: str = ""
    tail: str = ""
    size: int = 0
    sha256: str = ""
    truncated: bool = False

    @property
    def text(self) -> str:
        """The evidence as it is shown, with a line that says how much was dropped."""
        if not self.truncated:
            return self.head
        dropped = self.size - len(self.head) - len(self.tail)
        return f"{self.head}\n[... {dropped} characters dropped ...]\n{self.tail}"

    def within(self, limit: int) -> Evidence:
        """The same evidence with at most `limit` characters of head and tail, at least 2."""
        if len(self.head) + len(self.tail) <= limit:
            return self
        if not self.truncated:
            return bounded(self.head, label=self.label, limit=limit)
        head, tail = limit // 4, limit - limit // 4
        return self.model_copy(update={"head": _first_lines(self.head[:head]), "tail": _last_lines(self.tail[-tail:])})


def bounded(text: str, *, label: str = "", limit: int = EVIDENCE_CHARS) -> Evidence:
    """Keep the head and the tail of a text, cut at line ends.

    A quarter of the room goes to the head and the rest to the tail, where tools put their summaries. A single line
    that is longer than its room is cut inside.

    Args:
        text: The whole text.
        label: Where it comes from.
        limit: Characters of head and tail together, at least 2.
    """
    whole = Evidence(label=label, head=text, size=len(text), sha256=sha256(text))
    if len(text) <= limit:
        return whole
    head = _first_lines(text[: limit // 4])
    tail = _last_lines(text[len(text) - (limit - limit // 4) :])
    return whole.model_copy(update={"head": head, "tail": tail, "truncated": True})


def _first_lines(text: str) -> str:
    end = text.rfind("\n")
    return text[:end] if end > 0 else text


def _last_lines(text: str) -> str:
    start = text.find("\n")
    return text[start + 1 :] if 0 <= start < len(text) - 1 else text
