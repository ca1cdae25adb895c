"""ContextStore: immutable snapshots, each owner's apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_recursive.nodes import ContextStore
from langgraph_recursive.state import ComponentError, ContextRef, InvalidInputError, Owner

ANN = Owner.of_thread("thread.1", user_id="ann@example.org")
Way = Callable[..., Any]


@pytest.fixture
def contexts() -> ContextStore:
    return ContextStore(InMemoryStore())


@pytest.fixture(params=["sync", "async"])
def put(request: pytest.FixtureRequest, contexts: ContextStore) -> Way:
    if request.param == "sync":
        return contexts.put
    return lambda *args, **named: asyncio.run(contexts.aput(*args, **named))


@pytest.fixture(params=["sync", "async"])
def get(request: pytest.FixtureRequest, contexts: ContextStore) -> Way:
    if request.param == "sync":
        return contexts.get
    return lambda *args: asyncio.run(contexts.aget(*args))


def test_a_snapshot_is_found_by_id_and_version(put: Way, get: Way) -> None:
    ref = put("the whole", owner=ANN, ref_id="protocol", version="2")
    assert ref == ContextRef(ref_id="protocol", version="2")
    assert get(ref, ANN) == "the whole"
    assert get(ContextRef(ref_id="protocol", version="1"), ANN) is None


def test_the_same_id_and_version_with_another_content_is_an_error(put: Way, get: Way) -> None:
    ref = put("one", owner=ANN, ref_id="protocol")
    assert put("one", owner=ANN, ref_id="protocol") == ref
    with pytest.raises(InvalidInputError, match="new version"):
        put("two", owner=ANN, ref_id="protocol")
    assert get(ref, ANN) == "one"


def test_without_an_id_the_text_makes_one(put: Way) -> None:
    assert put("one", owner=ANN) == put("one", owner=ANN) != put("two", owner=ANN)


@pytest.mark.parametrize("owner", [Owner(root="other/t", user_id=ANN.user_id), Owner(root=ANN.root), Owner(root="")])
def test_a_snapshot_of_another_root_or_user_is_not_there(put: Way, get: Way, owner: Owner) -> None:
    ref = put("mine", owner=ANN, ref_id="protocol")
    assert get(ref, owner) is None
    put("theirs", owner=owner, ref_id="protocol")
    assert get(ref, ANN) == "mine"


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b", "..", "a b", "x" * 129])
def test_a_path_is_no_name(put: Way, get: Way, name: str) -> None:
    with pytest.raises(InvalidInputError, match="plain names"):
        put("x", owner=ANN, ref_id=name)
    with pytest.raises(InvalidInputError, match="plain names"):
        put("x", owner=ANN, version=name)
    assert get(ContextRef(ref_id=name, version="1"), ANN) is None


@pytest.mark.parametrize("text", ["", b"bytes", None])
def test_a_snapshot_is_a_text(put: Way, text: Any) -> None:
    with pytest.raises(InvalidInputError, match="text"):
        put(text, owner=ANN)


@pytest.mark.parametrize("forged", [{"text": "changed"}, {"user_id": "bob"}, {"root": "x"}, {"text": 7}])
def test_a_snapshot_that_was_changed_in_the_store_is_not_there(forged: dict[str, Any]) -> None:
    store = InMemoryStore()
    contexts = ContextStore(store)
    ref = contexts.put("the whole", owner=ANN)
    [item] = store.search(("context_snapshots",))
    store.put(item.namespace, item.key, {**item.value, **forged})
    assert contexts.get(ref, ANN) is None


def test_only_a_langgraph_store_holds_snapshots() -> None:
    with pytest.raises(ComponentError, match="BaseStore"):
        ContextStore({})  # type: ignore[arg-type]  # the mistake that is tested
