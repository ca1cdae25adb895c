"""Artifacts: kept in a LangGraph store, and resolved before a report is validated."""

from __future__ import annotations

import base64
import functools
from collections import Counter
from collections.abc import Sequence
from typing import Any

from langgraph.store.base import BaseStore

from langgraph_recursive.state._model import canonical_json, sha256
from langgraph_recursive.state.artifacts import (
    ARTIFACTS,
    ArtifactFinding,
    ResolvedArtifact,
    content_hash,
    examined,
    misshapen,
    reference_faults,
    unavailable,
)
from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.materials import MATERIAL_CHARS
from langgraph_recursive.state.owner import Owner
from langgraph_recursive.state.report import ArtifactRef, TaskReport

from .context import CallFailed, Context
from .meter import calls_no_model
from .records import Records

__all__ = ("StoreArtifacts", "artifact_findings")

_NAMESPACE = ("artifacts",)
_KEY_CHARS = 32


class StoreArtifacts:
    """Keeps artifacts in a LangGraph store and resolves them.

        artifacts = StoreArtifacts(store)

        def solver(task):
            ref = artifacts.put(table, owner=task.owner, kind="table", mime_type="text/csv")
            return TaskReport(..., artifact_refs=[ref])

        create_recursive_solver(solver=solver, artifact_resolver=artifacts)

    Args:
        store: The LangGraph store.
        namespace: The part of it.
    """

    def __init__(self, store: BaseStore, *, namespace: Sequence[str] = _NAMESPACE) -> None:
        self._records = Records(store, namespace)

    def put(
        self,
        content: bytes | str,
        *,
        owner: Owner | None,
        kind: str,
        mime_type: str = "text/plain",
        artifact_id: str | None = None,
        version: str = "1",
    ) -> ArtifactRef:
        """Keep a content for good.

        Args:
            content: The content.
            owner: Whose it is: inside a run `task.owner`.
            kind: What it is, in the application's words.
            mime_type: Its type.
            artifact_id: Its id, a plain name that no other tree uses; by default it is made of all of these.
            version: Its version.

        Raises:
            InvalidInputError: There is no owner, a name is none, or id and version already stand for another content.
        """
        ref, value = _kept(content, owner, kind, mime_type, artifact_id, version)
        self._records.put(_key(ref), value)
        return ref

    async def aput(
        self,
        content: bytes | str,
        *,
        owner: Owner | None,
        kind: str,
        mime_type: str = "text/plain",
        artifact_id: str | None = None,
        version: str = "1",
    ) -> ArtifactRef:
        """Keep a content for good, on this event loop; see `put`."""
        ref, value = _kept(content, owner, kind, mime_type, artifact_id, version)
        await self._records.aput(_key(ref), value)
        return ref

    def resolve(self, ref: ArtifactRef, *, root: str, user_id: str) -> ResolvedArtifact | None:
        """Find an artifact, whoever it belongs to: whose it is, the framework compares."""
        value = self._records.get(_key(ref))
        if value is None:
            return None
        content = value["text"] if "text" in value else base64.b64decode(value["bytes"])
        return ResolvedArtifact(
            content=content, content_hash=value["content_hash"], root=value["root"], user_id=value["user_id"]
        )


def _key(ref: ArtifactRef) -> str:
    return f"{ref.artifact_id}@{ref.version}"


def _kept(
    content: bytes | str, owner: Owner | None, kind: str, mime_type: str, artifact_id: str | None, version: str
) -> tuple[ArtifactRef, dict[str, Any]]:
    if owner is None:
        raise InvalidInputError("an artifact needs an owner: inside a run task.owner", field="owner")
    actual = content_hash(content)
    made = sha256(canonical_json([owner.root, owner.user_id, kind, mime_type, actual]))[:_KEY_CHARS]
    ref = ArtifactRef(
        artifact_id=made if artifact_id is None else artifact_id,
        version=version,
        content_hash=actual,
        kind=kind,
        mime_type=mime_type,
    )
    if fault := reference_faults(ref):
        raise InvalidInputError(fault, field="artifact_id", value=artifact_id)
    held = {"text": content} if isinstance(content, str) else {"bytes": base64.b64encode(content).decode("ascii")}
    return ref, {**held, "content_hash": actual, "root": owner.root, "user_id": owner.user_id}


async def artifact_findings(report: TaskReport, context: Context) -> list[ArtifactFinding]:
    """Resolve and check every artifact that a report refers to.

    Not durably: whatever a checkpoint remembers, a validation looks at the artifacts as they are now.
    """
    refs = list(dict.fromkeys(report.artifact_refs))
    if len(refs) > ARTIFACTS:
        return [misshapen(refs[0], f"the report refers to {len(refs)} artifacts, at most {ARTIFACTS}")]
    named = Counter(map(_key, refs))
    findings = []
    for ref in refs:
        fault = reference_faults(ref) or ("" if named[_key(ref)] == 1 else "it is referred to in two ways")
        findings.append(misshapen(ref, fault) if fault else await _finding(ref, context))
    return findings


async def _finding(ref: ArtifactRef, context: Context) -> ArtifactFinding:
    resolver, owner = context.parts.artifacts, context.attempt.owner
    if resolver is None or owner is None:
        return unavailable(ref, "no artifact_resolver is given")
    resolve = functools.partial(resolver.resolve, ref, root=owner.root, user_id=owner.user_id)
    try:
        found = await context.call_anew("artifact", calls_no_model(resolve))
    except CallFailed as failure:
        return unavailable(ref, str(failure))
    return examined(ref, found, owner, chars=MATERIAL_CHARS)
