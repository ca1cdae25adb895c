"""What checking one reference comes to, as data: no store, no model."""

from __future__ import annotations

import pytest

from langgraph_recursive.state import ArtifactRef, Owner, ResolvedArtifact
from langgraph_recursive.state.artifacts import (
    artifact_verdict,
    content_hash,
    examined,
    misshapen,
    reference_faults,
    unavailable,
)

OWNER = Owner.of_thread("thread", user_id="ann")
TEXT = "a,b\n1,2\n"


def ref(**fields: str) -> ArtifactRef:
    given = {"artifact_id": "table", "version": "1", "kind": "table", "mime_type": "text/csv"}
    return ArtifactRef(**{**given, "content_hash": content_hash(TEXT), **fields})


def found(content: bytes | str = TEXT, **fields: str) -> ResolvedArtifact:
    given = {"content_hash": content_hash(content), "root": OWNER.root, "user_id": OWNER.user_id}
    return ResolvedArtifact(content=content, **{**given, **fields})


def test_an_artifact_with_the_reported_hash_passes() -> None:
    finding = examined(ref(), found(), OWNER, chars=100)
    assert (finding.status, finding.text, finding.content_hash) == ("passed", TEXT, content_hash(TEXT))


def test_a_text_and_its_utf8_bytes_have_one_hash() -> None:
    assert content_hash("grün") == content_hash("grün".encode())
    assert examined(ref(), found(TEXT.encode()), OWNER, chars=100).status == "passed"


def test_a_missing_artifact_fails() -> None:
    assert examined(ref(), None, OWNER, chars=100).status == "failed"


def test_another_content_fails_with_its_real_hash() -> None:
    finding = examined(ref(), found("other"), OWNER, chars=100)
    assert (finding.status, finding.content_hash, finding.text) == ("failed", content_hash("other"), "")


def test_the_resolvers_word_for_the_hash_is_not_trusted() -> None:
    lying = found("other", content_hash=content_hash(TEXT))
    assert examined(ref(), lying, OWNER, chars=100).status == "failed"


def test_a_stored_hash_that_differs_from_the_content_fails() -> None:
    assert examined(ref(), found(content_hash="0" * 64), OWNER, chars=100).status == "failed"


@pytest.mark.parametrize("other", [{"root": "elsewhere/t"}, {"user_id": "bob"}, {"user_id": ""}])
def test_an_artifact_of_another_root_or_user_is_an_error(other: dict[str, str]) -> None:
    finding = examined(ref(), found(**other), OWNER, chars=100)
    assert (finding.status, finding.text) == ("error", "")


@pytest.mark.parametrize("answer", ["a text", 7, {"content": TEXT}, object(), {"content": 3, "content_hash": "x"}])
def test_a_resolvers_answer_of_a_forged_shape_is_an_error(answer: object) -> None:
    assert examined(ref(), answer, OWNER, chars=100).status == "error"


@pytest.mark.parametrize(
    "forged",
    [
        {"artifact_id": "../../etc/passwd"},
        {"artifact_id": "/etc/passwd"},
        {"artifact_id": "a/b"},
        {"artifact_id": "a\\b"},
        {"artifact_id": "a..b"},
        {"artifact_id": ".hidden"},
        {"artifact_id": "file:///etc/passwd"},
        {"artifact_id": "a\nb"},
        {"artifact_id": "a\x00"},
        {"artifact_id": "a" * 129},
        {"version": "../1"},
        {"content_hash": "x"},
        {"content_hash": content_hash(TEXT).upper()},
        {"content_hash": "sha256:" + content_hash(TEXT)},
        {"kind": "k" * 129},
        {"mime_type": "m" * 129},
    ],
)
def test_a_forged_reference_has_faults(forged: dict[str, str]) -> None:
    assert reference_faults(ref(**forged))


def test_a_plain_reference_has_none() -> None:
    assert reference_faults(ref(artifact_id="report-2.final:a_b", version="1.0")) == ""


def test_a_huge_text_is_cut_and_says_so() -> None:
    huge = "x" * 200_000
    finding = examined(ref(content_hash=content_hash(huge)), found(huge), OWNER, chars=1_000)
    assert finding.status == "passed"
    assert len(finding.text) < 1_100
    assert "199000 of 200000 characters cut" in finding.text


def test_bytes_are_described_and_a_text_cannot_hide_behind_a_type() -> None:
    binary = b"\xff\xfe\x00"
    shown = examined(ref(content_hash=content_hash(binary)), found(binary), OWNER, chars=100).text
    assert shown == "(3 bytes of text/csv, kind table: no text to show)"
    hidden = examined(ref(mime_type="application/octet-stream"), found(TEXT.encode()), OWNER, chars=100)
    assert hidden.text == TEXT


def test_each_artifact_is_one_check_named_after_it() -> None:
    verdict = artifact_verdict([examined(ref(), found(), OWNER, chars=9), unavailable(ref(artifact_id="b"), "down")])
    assert verdict is not None
    assert [(check.check_id, check.status) for check in verdict.checks] == [
        ("artifact:table", "passed"),
        ("artifact:b", "unknown"),
    ]
    assert (verdict.outcome, verdict.checked) == ("unknown", False)


def test_two_versions_of_one_id_are_two_checks() -> None:
    verdict = artifact_verdict([unavailable(ref(), ""), unavailable(ref(version="2"), "")])
    assert verdict is not None
    assert [check.check_id for check in verdict.checks] == ["artifact:table@1", "artifact:table@2"]


def test_one_forged_reference_makes_the_whole_an_error() -> None:
    verdict = artifact_verdict([examined(ref(), found(), OWNER, chars=9), misshapen(ref(artifact_id="b"), "no")])
    assert verdict is not None
    assert verdict.outcome == "error"
    assert "b@1" in str(verdict.error)


def test_no_artifacts_no_verdict() -> None:
    assert artifact_verdict([]) is None
