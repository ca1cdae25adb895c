"""Web search: any callable, and an adapter for Serper (https://serper.dev), Google's results as JSON."""

from __future__ import annotations

import importlib
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from langgraph_recursive.state._model import Given
from langgraph_recursive.state.errors import InvalidInputError, MissingDependencyError

from .policy import WebRefusedError

if TYPE_CHECKING:
    import httpx

__all__ = ("Search", "SearchResult", "SerperSearch")

_REMEDY = 'pip install "langgraph-recursive[web]"'
_MAX_BYTES = 2_000_000


class SearchResult(Given):
    """One hit.

    Attributes:
        url: Where it is.
        title: Its title.
        snippet: A few words of it.
    """

    url: str
    title: str = ""
    snippet: str = ""


Search = Callable[[str, int], Sequence[SearchResult] | Awaitable[Sequence[SearchResult]]]
"""Takes the query and the number of results wanted, and gives the results; sync or async."""


class SerperSearch:
    """Searches with Serper.

    Args:
        api_key: The key; it is sent to the endpoint only and never shown.
        endpoint: Where the API is.
        client: The `httpx.Client` to use; by default one of its own per search, without proxies from the environment.
        timeout: Seconds the API may let pass without an answer.

    Raises:
        InvalidInputError: The key is empty.
        MissingDependencyError: httpx is not installed.
    """

    def __init__(
        self,
        api_key: str,
        *,
        endpoint: str = "https://google.serper.dev/search",
        client: httpx.Client | None = None,
        timeout: float = 10.0,
    ) -> None:
        if not api_key.strip():
            raise InvalidInputError("SerperSearch api_key is empty", field="api_key")
        try:
            self._httpx = importlib.import_module("httpx")
        except ImportError as error:
            raise MissingDependencyError(f"SerperSearch needs httpx: {_REMEDY}") from error
        self._api_key = api_key.strip()
        self.endpoint = endpoint
        self.client = client
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"SerperSearch(endpoint={self.endpoint!r})"

    def __call__(self, query: str, k: int) -> list[SearchResult]:
        """Search.

        Args:
            query: What to look for.
            k: Results wanted, at least 1.

        Raises:
            WebRefusedError: The API cannot be reached, refuses, or answers something else.
        """
        try:
            if self.client is not None:
                answer = self._answer(self.client, query, k)
            else:
                with self._httpx.Client(trust_env=False) as client:
                    answer = self._answer(client, query, k)
        # An exception of httpx could show the request, which holds the key.
        except self._httpx.HTTPError as error:
            raise _failed(type(error).__name__, query) from None
        return _results(answer, query)[:k]

    def _answer(self, client: httpx.Client, query: str, k: int) -> bytes:
        body = bytearray()
        with client.stream(
            "POST",
            self.endpoint,
            json={"q": query, "num": k},
            headers={"X-API-KEY": self._api_key},
            timeout=self.timeout,
            follow_redirects=False,
        ) as response:
            if response.status_code != 200:
                raise _failed(f"status {response.status_code}", query)
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _MAX_BYTES:
                    raise _failed("the answer is too large", query)
        return bytes(body)


def _results(answer: bytes, query: str) -> list[SearchResult]:
    try:
        hits: Any = json.loads(answer)["organic"]
        if not isinstance(hits, list):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _failed("the answer has no list of results", query) from None
    return [_result(hit) for hit in hits if isinstance(hit, dict) and isinstance(hit.get("link"), str)]


def _result(hit: dict[str, Any]) -> SearchResult:
    return SearchResult(url=hit["link"], title=str(hit.get("title") or ""), snippet=str(hit.get("snippet") or ""))


def _failed(why: str, query: str) -> WebRefusedError:
    return WebRefusedError(f"the search failed: {why}", field="search", value=query)
