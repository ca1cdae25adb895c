"""Artifacts: what a report refers to, checked against what a trusted resolver finds under that name.

What an executor says of its outputs proves nothing. A reference is checked without any model: its content is hashed
here, whatever hash the report or the resolver claims (protocol, real artifacts).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from ._model import Data, canonical_json
from .errors import invalid_fields
from .ids import is_plain_name
from .owner import Owner
from .report import ArtifactRef
from .verdict import ValidationCheck, Verdict

__all__ = (
    "ARTIFACTS",
    "ArtifactFinding",
    "ArtifactResolver",
    "ResolvedArtifact",
    "artifact_verdict",
    "content_hash",
    "examined",
    "misshapen",
    "reference_faults",
    "unavailable",
)

ARTIFACTS = 64
"""Artifacts of one report at most."""

_HASH = re.compile(r"[0-9a-f]{64}")
_LABEL_CHARS = 128


class ResolvedArtifact(Data):
    """What a resolver found.

    Attributes:
        content: The content, whole.
        content_hash: sha256 of it in hexadecimal, as it was stored; it is computed again and never trusted.
        root: Key of the tree that it belongs to (`Owner.root`).
        user_id: The user that it belongs to.
    """

    content: bytes | str
    content_hash: str
    root: str
    user_id: str = ""


class ArtifactResolver(Protocol):
    """Finds artifacts by their names. The application gives it and it is trusted; a report never names a path."""

    def resolve(
        self, ref: ArtifactRef, *, root: str, user_id: str
    ) -> ResolvedArtifact | Awaitable[ResolvedArtifact | None] | None:
        """Find an artifact, sync or async.

        Args:
            ref: Its name. Id and version are plain names: no slash, no `..`.
            root: Key of the tree that asks.
            user_id: The user that asks.

        Returns:
            What was found; None when there is nothing under this id and version.

        Raises:
            Exception: It cannot be told at present: the artifact counts as unknown, neither there nor missing.
        """
        ...


class ArtifactFinding(Data):
    """What checking one reference came to.

    Attributes:
        ref: The reference.
        status: `failed`: missing or changed. `unknown`: cannot be told at present. `error`: forged, or someone else's.
        reason: Why, in words.
        content_hash: What the content really hashes to; empty where nothing was read.
        text: The content for a reader, of a text at most as much as was asked for; else what it is.
    """

    ref: ArtifactRef
    status: Literal["passed", "failed", "unknown", "error"]
    reason: str
    content_hash: str = ""
    text: str = ""

    @property
    def name(self) -> str:
        """Id and version."""
        return f"{self.ref.artifact_id}@{self.ref.version}"

    @property
    def fingerprint(self) -> str:
        """What a validation plan depends on."""
        return canonical_json([self.name, self.status, self.content_hash])


def content_hash(content: bytes | str) -> str:
    """Hash a content, in hexadecimal; a text as UTF-8."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()


def reference_faults(ref: ArtifactRef) -> str:
    """Say why a reference has not the form of one, or an empty text. Such a reference never reaches the resolver."""
    for field in ("artifact_id", "version"):
        if not is_plain_name(getattr(ref, field)):
            return f"{field} = {getattr(ref, field)[:_LABEL_CHARS]!r} is no plain name of at most 128 characters"
    if not _HASH.fullmatch(ref.content_hash):
        return f"content_hash = {ref.content_hash[:_LABEL_CHARS]!r} is no sha256 in hexadecimal"
    if len(ref.kind) > _LABEL_CHARS or len(ref.mime_type) > _LABEL_CHARS:
        return f"kind or mime_type has over {_LABEL_CHARS} characters"
    return ""


def misshapen(ref: ArtifactRef, reason: str) -> ArtifactFinding:
    """The finding on a reference without the form of one."""
    return ArtifactFinding(ref=ref, status="error", reason=f"the reference is forged: {reason}")


def unavailable(ref: ArtifactRef, reason: str) -> ArtifactFinding:
    """The finding on a reference that cannot be resolved at present."""
    return ArtifactFinding(ref=ref, status="unknown", reason=f"it could not be resolved: {reason}")


def examined(ref: ArtifactRef, found: Any, owner: Owner, *, chars: int) -> ArtifactFinding:
    """Check what a resolver gave for a reference.

    Args:
        ref: The reference.
        found: What the resolver returned: a ResolvedArtifact, also as plain data, or None.
        owner: Who asks.
        chars: Characters of a text to keep; a longer one is cut right behind them and says so.
    """
    if found is None:
        return ArtifactFinding(ref=ref, status="failed", reason="there is no such artifact")
    try:
        artifact = ResolvedArtifact.model_validate(found)
    except ValidationError as error:
        return ArtifactFinding(ref=ref, status="error", reason=invalid_fields("the resolver's answer", error)[:500])
    if (artifact.root, artifact.user_id) != (owner.root, owner.user_id):
        return ArtifactFinding(ref=ref, status="error", reason="it belongs to another root or user")
    actual = content_hash(artifact.content)
    if actual != ref.content_hash or actual != artifact.content_hash:
        reason = f"its content has sha256 {actual}, reported is {ref.content_hash}, stored {artifact.content_hash[:64]}"
        return ArtifactFinding(ref=ref, status="failed", reason=reason, content_hash=actual)
    text = _readable(ref, artifact.content, chars)
    return ArtifactFinding(
        ref=ref, status="passed", reason=f"it is there, sha256 {actual}", content_hash=actual, text=text
    )


def _readable(ref: ArtifactRef, content: bytes | str, chars: int) -> str:
    """Show what is a text, whatever type is claimed for it: nobody hides one behind a mime type."""
    try:
        text = content.encode("utf-8", "replace").decode() if isinstance(content, str) else content.decode()
    except UnicodeDecodeError:
        return f"({len(content)} bytes of {ref.mime_type}, kind {ref.kind}: no text to show)"
    return text if len(text) <= chars else f"{text[:chars]}\n[... {len(text) - chars} of {len(text)} characters cut]"


def artifact_verdict(findings: Sequence[ArtifactFinding]) -> Verdict | None:
    """Put the findings of one report together: one check each, `artifact:<id>`; None when there are none.

    Any error makes the whole an error. With several versions of one id the check names the version too.
    """
    if not findings:
        return None
    versions = Counter(finding.ref.artifact_id for finding in findings)
    errors = [f"artifact {finding.name}: {finding.reason}" for finding in findings if finding.status == "error"]
    checks = [
        ValidationCheck(
            check_id=f"artifact:{finding.name if versions[finding.ref.artifact_id] > 1 else finding.ref.artifact_id}",
            status="unknown" if finding.status == "error" else finding.status,
            justification=f"artifact {finding.name}: {finding.reason}",
        )
        for finding in findings
    ]
    return Verdict(checks=checks, error="; ".join(errors) or None, checked=False)
