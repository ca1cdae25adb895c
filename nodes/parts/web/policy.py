"""The limits of a validator's web tools, and the one error they refuse with."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pydantic import ConfigDict, Field, ValidationError, field_validator

from langgraph_recursive.state._model import Given
from langgraph_recursive.state.errors import InvalidPolicyError, RecursiveSolverError, invalid_fields

__all__ = ("WebPolicy", "WebRefusedError")

_AGENT = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*")


class WebRefusedError(RecursiveSolverError, ValueError):
    """A URL, an address, a response or a search is refused.

    `field` names the rule: `url`, `scheme`, `userinfo`, `host`, `port`, `address`, `dns`, `connection`, `redirect`,
    `status`, `content_type`, `encoding`, `size`, `time`, `undeclared`, `quota` or `search`. `value` is the URL, host,
    address or query at fault, and may be text that a server wrote. The message never holds any: it is shown to a model
    outside of the fence that marks web text.
    """

    code: ClassVar[str] = "web_refused"


class WebPolicy(Given):
    """What one validator run may fetch. Frozen; `policy.model_copy(update={...})` makes a changed one.

    Which addresses are public is no setting: no policy opens a private one.

    Raises:
        InvalidPolicyError: A field is unknown or out of bounds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schemes: frozenset[str] = frozenset({"http", "https"})
    """Schemes that may be fetched: `http`, `https` or both. A redirect from https to http is refused in any case."""

    ports: frozenset[int] = Field(frozenset({80, 443}), min_length=1)
    """Ports that may be connected to, each 1 to 65535."""

    max_url_chars: int = Field(2_048, ge=16, le=8_192)
    """Characters of a URL, of each redirect's target as well."""

    max_redirects: int = Field(5, ge=0, le=20)
    """Redirects that are followed; the first request does not count. 0 follows none."""

    max_bytes: int = Field(2_000_000, ge=1, le=50_000_000)
    """Bytes of a page after its content encoding is undone. A larger page is refused, not cut."""

    timeout: float = Field(15.0, gt=0, le=300)
    """Seconds one opening may take in all: names, connections, TLS, every redirect, the body and its reading."""

    max_text_chars: int = Field(12_000, ge=1)
    """Characters of page text that the model is given. Longer text is cut, and the cut is named."""

    content_types: frozenset[str] = Field(frozenset({"text/html", "application/xhtml+xml", "text/plain"}), min_length=1)
    """Media types that are read, lower-case and without parameters. They are read as HTML if they have `html` in their
    name, else as plain text; nothing is ever downloaded or run."""

    user_agent: str = Field("langgraph-recursive-validator", max_length=200)
    """The User-Agent header: printable ASCII."""

    max_pages: int = Field(10, ge=0)
    """Openings that one validator run may try; a page that it already opened does not count again. 0 allows none."""

    max_searches: int = Field(5, ge=0)
    """Searches that one validator run may make. 0 allows none."""

    max_results: int = Field(8, ge=1, le=50)
    """Results one search gives."""

    search_timeout: float = Field(15.0, gt=0, le=300)
    """Seconds one search may take."""

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            field = str(next(iter(error.errors()[0]["loc"]), ""))
            raise InvalidPolicyError(invalid_fields("WebPolicy", error), field=field) from error

    @field_validator("schemes")
    @classmethod
    def _known_schemes(cls, schemes: frozenset[str]) -> frozenset[str]:
        if not schemes or schemes - {"http", "https"}:
            raise ValueError("must be http, https or both")
        return schemes

    @field_validator("ports")
    @classmethod
    def _real_ports(cls, ports: frozenset[int]) -> frozenset[int]:
        if any(not 1 <= port <= 65_535 for port in ports):
            raise ValueError("each must be 1 to 65535")
        return ports

    @field_validator("content_types")
    @classmethod
    def _plain_types(cls, types: frozenset[str]) -> frozenset[str]:
        if any(kind != kind.strip().lower() or "/" not in kind or ";" in kind for kind in types):
            raise ValueError("each must be a lower-case media type without parameters, such as text/html")
        return types

    @field_validator("user_agent")
    @classmethod
    def _one_line(cls, agent: str) -> str:
        if not _AGENT.fullmatch(agent):
            raise ValueError("must be printable ASCII in one line")
        return agent
