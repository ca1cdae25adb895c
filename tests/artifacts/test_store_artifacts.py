"""StoreArtifacts: artifacts in a LangGraph store, written once."""

from __future__ import annotations

import asyncio

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_recursive.nodes import StoreArtifacts
from langgraph_recursive.state import ArtifactRef, ComponentError, InvalidInputError, Owner
from langgraph_recursive.state.artifacts import content_hash

ANN = Owner.of_thread("thread", user_id="ann")


@pytest.fixture
def artifacts() -> StoreArtifacts:
    return StoreArtifacts(InMemoryStore())


@pytest.mark.parametrize("content", ["a text", b"\x00\xff bytes", "", b""])
def test_what_is_put_is_found_again(artifacts: StoreArtifacts, content: bytes | str) -> None:
    ref = artifacts.put(content, owner=ANN, kind="note")
    found = artifacts.resolve(ref, root=ANN.root, user_id=ANN.user_id)
    assert found is not None
    assert (found.content, found.content_hash) == (content, content_hash(content))
    assert (found.root, found.user_id) == ("thread/t", "ann")
    assert ref.content_hash == content_hash(content)


def test_putting_on_an_event_loop_is_the_same(artifacts: StoreArtifacts) -> None:
    made = asyncio.run(artifacts.aput("a text", owner=ANN, kind="note"))
    assert made == artifacts.put("a text", owner=ANN, kind="note")


def test_a_reference_holds_names_and_a_hash_and_nothing_else(artifacts: StoreArtifacts) -> None:
    ref = artifacts.put("a text", owner=ANN, kind="note")
    assert set(ref.model_dump()) == {"artifact_id", "version", "content_hash", "kind", "mime_type"}
    assert "a text" not in ref.model_dump_json()


def test_the_same_content_of_two_owners_has_two_ids(artifacts: StoreArtifacts) -> None:
    bob = Owner.of_thread("thread", user_id="bob")
    one, other = (artifacts.put("a text", owner=owner, kind="note") for owner in (ANN, bob))
    assert one.artifact_id != other.artifact_id


def test_a_version_never_changes(artifacts: StoreArtifacts) -> None:
    artifacts.put("one", owner=ANN, kind="note", artifact_id="n")
    artifacts.put("one", owner=ANN, kind="note", artifact_id="n")
    with pytest.raises(InvalidInputError, match="new version"):
        artifacts.put("two", owner=ANN, kind="note", artifact_id="n")
    with pytest.raises(InvalidInputError, match="new version"):
        asyncio.run(artifacts.aput("two", owner=ANN, kind="note", artifact_id="n"))
    assert artifacts.put("two", owner=ANN, kind="note", artifact_id="n", version="2").version == "2"


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b", ".x"])
def test_no_path_can_be_put_or_found(artifacts: StoreArtifacts, name: str) -> None:
    with pytest.raises(InvalidInputError):
        artifacts.put("x", owner=ANN, kind="note", artifact_id=name)
    forged = ArtifactRef(artifact_id=name, version="1", content_hash="0" * 64, kind="note", mime_type="text/plain")
    assert artifacts.resolve(forged, root=ANN.root, user_id="ann") is None


def test_an_artifact_needs_an_owner(artifacts: StoreArtifacts) -> None:
    with pytest.raises(InvalidInputError, match="owner"):
        artifacts.put("x", owner=None, kind="note")


def test_only_a_langgraph_store_holds_artifacts() -> None:
    with pytest.raises(ComponentError, match="BaseStore"):
        StoreArtifacts({})  # type: ignore[arg-type]  # the mistake that is tested
