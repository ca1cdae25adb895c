"""Records: a part of a LangGraph store where what is written once never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.store.base import BaseStore, Item

from langgraph_recursive.state.errors import ComponentError, InvalidInputError

__all__ = ("Records",)


class Records:
    """Values that are written once.

    Writing the same again changes nothing, so a call that is repeated after a crash is no error. A LangGraph store
    cannot compare and set: of two different values written at the very same moment the later one stays, and whoever
    reads the other one finds another hash.

    Args:
        store: The LangGraph store.
        namespace: The part of it.

    Raises:
        ComponentError: `store` is no LangGraph store.
    """

    def __init__(self, store: BaseStore, namespace: Sequence[str]) -> None:
        if not isinstance(store, BaseStore):
            raise ComponentError(f"store = {store!r}: must be a LangGraph BaseStore", field="store", value=store)
        self.store = store
        self.namespace = tuple(namespace)

    def get(self, key: str, *, under: Sequence[str] = ()) -> dict[str, Any] | None:
        """Read a value; None when there is none."""
        return _value(self.store.get((*self.namespace, *under), key))

    async def aget(self, key: str, *, under: Sequence[str] = ()) -> dict[str, Any] | None:
        """Read a value on this event loop."""
        return _value(await self.store.aget((*self.namespace, *under), key))

    def put(self, key: str, value: Mapping[str, Any], *, under: Sequence[str] = ()) -> None:
        """Write a value.

        Raises:
            InvalidInputError: Another value stands there.
        """
        if _is_new(key, self.get(key, under=under), value):
            self.store.put((*self.namespace, *under), key, dict(value), index=False)

    async def aput(self, key: str, value: Mapping[str, Any], *, under: Sequence[str] = ()) -> None:
        """Write a value on this event loop; see `put`."""
        if _is_new(key, await self.aget(key, under=under), value):
            await self.store.aput((*self.namespace, *under), key, dict(value), index=False)


def _value(item: Item | None) -> dict[str, Any] | None:
    return None if item is None else dict(item.value)


def _is_new(key: str, found: Mapping[str, Any] | None, value: Mapping[str, Any]) -> bool:
    if found is not None and found != dict(value):
        raise InvalidInputError(f"{key} is there already, with another content or owner: give a new version", field=key)
    return found is None
