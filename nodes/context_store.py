"""The context store: immutable snapshots of texts, which tasks may be granted to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.store.base import BaseStore

from langgraph_recursive.state._model import canonical_json, sha256
from langgraph_recursive.state.brief import ContextRef
from langgraph_recursive.state.context_reads import ref_name
from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.ids import is_plain_name
from langgraph_recursive.state.owner import Owner

from .records import Records

__all__ = ("ContextStore",)

_NAMESPACE = ("context_snapshots",)
_KEY_CHARS = 32


class ContextStore:
    """Keeps snapshots in a LangGraph store, each owner's apart.

        contexts = ContextStore(store)
        ref = contexts.put("the whole protocol ...", owner=Owner.of_thread("thread-1", user_id="ann"))
        solver = create_recursive_solver(model, context_store=contexts)
        solver.invoke(TaskBrief(..., context_refs=[ref]), {"configurable": {"thread_id": "thread-1", "user_id": "ann"}})

    Inside a run `task.owner` is the owner. A task reads what its brief grants, with the tool `read_context_ref` or with
    `read_context`, and may grant its children nothing else.

    Args:
        store: The LangGraph store.
        namespace: The part of it.
    """

    def __init__(self, store: BaseStore, *, namespace: Sequence[str] = _NAMESPACE) -> None:
        self._records = Records(store, namespace)

    def put(self, text: str, *, owner: Owner, ref_id: str | None = None, version: str = "1") -> ContextRef:
        """Keep a text for good.

        Args:
            text: The text.
            owner: Whose tree may read it.
            ref_id: Its id, a plain name; by default it is made of the text.
            version: Its version.

        Raises:
            InvalidInputError: The text is empty, a name is none, or id and version already stand for another text.
        """
        ref, value = _snapshot(text, owner, ref_id, version)
        self._records.put(ref_name(ref), value, under=_under(owner))
        return ref

    async def aput(self, text: str, *, owner: Owner, ref_id: str | None = None, version: str = "1") -> ContextRef:
        """Keep a text for good, on this event loop; see `put`."""
        ref, value = _snapshot(text, owner, ref_id, version)
        await self._records.aput(ref_name(ref), value, under=_under(owner))
        return ref

    def get(self, ref: ContextRef, owner: Owner) -> str | None:
        """Read a whole snapshot, without grants and allowance; None when this owner has none, or it is not sound."""
        return _text(self._records.get(ref_name(ref), under=_under(owner)), owner) if _is_ref(ref) else None

    async def aget(self, ref: ContextRef, owner: Owner) -> str | None:
        """Read a whole snapshot on this event loop; see `get`."""
        return _text(await self._records.aget(ref_name(ref), under=_under(owner)), owner) if _is_ref(ref) else None


def _snapshot(text: str, owner: Owner, ref_id: str | None, version: str) -> tuple[ContextRef, dict[str, Any]]:
    if not isinstance(text, str) or not text:
        raise InvalidInputError("a snapshot needs a text that is not empty", field="text", value=text)
    ref = ContextRef(ref_id=sha256(text)[:_KEY_CHARS] if ref_id is None else ref_id, version=version)
    if not _is_ref(ref):
        raise InvalidInputError(
            f"{ref_name(ref)}: use plain names of letters, digits and . _ : - for id and version", field="ref_id"
        )
    return ref, {"text": text, "sha256": sha256(text), "root": owner.root, "user_id": owner.user_id}


def _under(owner: Owner) -> tuple[str]:
    """The owner's own part of the store; a label may hold no dot, a thread's id may."""
    return (sha256(canonical_json([owner.root, owner.user_id]))[:_KEY_CHARS],)


def _is_ref(ref: ContextRef) -> bool:
    return is_plain_name(ref.ref_id) and is_plain_name(ref.version)


def _text(value: dict[str, Any] | None, owner: Owner) -> str | None:
    if value is None or (value.get("root"), value.get("user_id")) != (owner.root, owner.user_id):
        return None
    text = value.get("text")
    return text if isinstance(text, str) and sha256(text) == value.get("sha256") else None
