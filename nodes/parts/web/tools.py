"""The two web tools of one validator run, and the record of what it really opened."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.tools import BaseTool, StructuredTool
from langgraph.errors import GraphBubbleUp

from langgraph_recursive.state._model import sha256
from langgraph_recursive.state.errors import CallTimeoutError, ComponentError

from ...effects import Body, Invoke, adrive, drive
from .addresses import check_url
from .fetch import Connect, Fetcher, Page, Resolver, resolve
from .page import marked, one_line
from .policy import WebPolicy, WebRefusedError
from .search import Search, SearchResult

__all__ = ("OPEN_URL", "WEB_SEARCH", "WebSession")

OPEN_URL = "validator_open_url"
WEB_SEARCH = "validator_web_search"

_QUERY_CHARS = 400
_TITLE_CHARS = 200
_SNIPPET_CHARS = 500
_STORED_CHARS = 2_048


@dataclass(frozen=True)
class _Source:
    """A page that was opened."""

    id: str
    record: dict[str, Any]
    answer: str


class WebSession:
    """The web of one validator run: what it may open, what it opened, and what was refused.

    A refusal is the text of the tool's answer and an entry of `refused`, never an exception: a model may try what it
    likes. What raises is a component of the wrong shape.

    Args:
        policy: The limits; None takes the defaults.
        declared: URLs that may be opened: the report's `source_urls`. One that breaks the rules opens nothing.
        search: Any callable `(query, k)`, sync or async; None offers no search tool.
        resolver: Gives the addresses of a name.
        connect: Opens connections to tested addresses.
        tls: Verifies certificates.

    Attributes:
        refused: What was refused, in order: `tool`, `argument`, `rule`, `reason`, and the `value` at fault, which a
            server may have written.

    Raises:
        InvalidInputError: `tls` does not verify certificates and names.
        MissingDependencyError: httpx is not installed.
    """

    def __init__(
        self,
        policy: WebPolicy | None = None,
        declared: Iterable[str] = (),
        search: Search | None = None,
        *,
        resolver: Resolver = resolve,
        connect: Connect | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.policy = policy or WebPolicy()
        self.search = search
        self.refused: list[dict[str, str]] = []
        self._fetcher = Fetcher(self.policy, resolver=resolver, connect=connect, tls=tls)
        self._openable = {url for given in declared if (url := self._canonical(given))}
        self._sources: dict[str, _Source] = {}  # by canonical URL, in the order of opening
        self._tried = {OPEN_URL: 0, WEB_SEARCH: 0}
        # A model's tool calls may run side by side, in threads.
        self._lock = threading.Lock()

    def tools(self) -> list[BaseTool]:
        """Make the tools: `validator_open_url`, and `validator_web_search` if there is a search."""
        made: list[BaseTool] = [self._open_tool()]
        return [self._search_tool(), *made] if self.search is not None else made

    @property
    def opened(self) -> dict[str, dict[str, Any]]:
        """What was opened, by source id.

        Each has `url` (asked for, canonical), `final_url`, `status`, and of its whole text the `sha256` and the
        length in characters, `chars`.
        """
        with self._lock:
            return {source.id: dict(source.record) for source in self._sources.values()}

    @property
    def kept(self) -> dict[str, Any]:
        """What another session has to know to go on from here, as JSON: what is open, what may be, what was used."""
        with self._lock:
            opened = {source.id: dict(source.record) for source in self._sources.values()}
            return {"opened": opened, "openable": sorted(self._openable), "used": dict(self._tried)}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Go on from where another session was: ids stay those of the same pages, and nothing is opened again.

        What this session did beyond that stays.

        Args:
            kept: Its `kept`.
        """
        with self._lock:
            for source_id, record in kept["opened"].items():
                answer = f"Source id: {source_id}\nIt is open: its text is in the answer of an earlier call."
                self._sources.setdefault(record["url"], _Source(source_id, dict(record), answer))
            self._openable.update(kept["openable"])
            self._tried = {tool: max(used, kept["used"][tool]) for tool, used in self._tried.items()}

    def cites(self, ids: Iterable[str]) -> list[str]:
        """Give the ids that this run never opened: forged evidence.

        Args:
            ids: The source ids that a check cites.
        """
        real = self.opened
        return [cited for cited in dict.fromkeys(ids) if cited not in real]

    def _open_tool(self) -> StructuredTool:
        session = self

        def validator_open_url(url: Annotated[str, "One of the declared or found URLs."]) -> str:
            """Read the text of a public web page that the report declares as a source or a search here returned.

            The answer begins with its source id, such as s1; cite that id as evidence. There are no scripts, logins,
            downloads or PDFs.
            """
            return drive(session._opening(url))

        async def avalidator_open_url(url: str) -> str:
            return await adrive(session._opening(url))

        return StructuredTool.from_function(validator_open_url, avalidator_open_url, name=OPEN_URL)

    def _search_tool(self) -> StructuredTool:
        session = self

        def validator_web_search(query: Annotated[str, "What to look for."]) -> str:
            """Search the web. The pages it lists can then be read with validator_open_url.

            A result listed is no evidence until it is opened.
            """
            return drive(session._searching(query))

        async def avalidator_web_search(query: str) -> str:
            return await adrive(session._searching(query))

        return StructuredTool.from_function(validator_web_search, avalidator_web_search, name=WEB_SEARCH)

    async def _opening(self, url: str) -> str:
        return await self._answered(OPEN_URL, url, self._open(url))

    async def _searching(self, query: str) -> str:
        return await self._answered(WEB_SEARCH, query, self._find(query))

    async def _answered(self, tool: str, argument: str, body: Body[str]) -> str:
        try:
            return await body
        except WebRefusedError as error:
            reason = one_line(str(error), 500)
            entry = {
                "tool": tool,
                "argument": _stored(argument),
                "rule": error.field or "",
                "reason": reason,
                "value": _stored(error.value or ""),
            }
            with self._lock:
                self.refused.append(entry)
            return f"Error: {reason}. Nothing was opened or found."

    async def _open(self, url: str) -> str:
        wanted = str(check_url(url, self.policy))
        with self._lock:
            known = self._sources.get(wanted)
            openable = wanted in self._openable
        if known is not None:
            return known.answer
        if not openable:
            raise WebRefusedError(
                "the URL is neither a declared source nor a result of a search here", field="undeclared", value=wanted
            )
        self._take(OPEN_URL, self.policy.max_pages, "pages")
        page = await self._fetcher.fetch(wanted)
        if not page.text:
            raise WebRefusedError("the page has no text that can be read without scripts", field="status", value=wanted)
        return self._kept(wanted, page).answer

    def _kept(self, wanted: str, page: Page) -> _Source:
        with self._lock:
            # Two calls may have opened it at once: one source has one id and one text.
            if wanted not in self._sources:
                source_id = f"s{len(self._sources) + 1}"
                answer = _page_answer(source_id, page, self.policy.max_text_chars)
                self._sources[wanted] = _Source(source_id, _record(page), answer)
            return self._sources[wanted]

    async def _find(self, query: str) -> str:
        wanted = one_line(query, _QUERY_CHARS)
        if not wanted:
            raise WebRefusedError("the query is empty", field="search", value=query)
        self._take(WEB_SEARCH, self.policy.max_searches, "searches")
        results = await self._results(wanted)
        found = {url: result for result in results if (url := self._canonical(result.url))}
        with self._lock:
            self._openable.update(found)
        if not found:
            return "The search found no page that may be opened."
        return marked("\n\n".join(_hit(url, result) for url, result in found.items()), kind="search_results")

    async def _results(self, query: str) -> Sequence[SearchResult]:
        k = self.policy.max_results
        try:
            results = await Invoke(self._search, query, k, timeout=self.policy.search_timeout)
        except (WebRefusedError, GraphBubbleUp):
            raise
        except CallTimeoutError as error:
            raise WebRefusedError(f"the search failed: {error}", field="time", value=query) from error
        except Exception as error:  # a foreign service that is down is no bug of the validator run
            raise WebRefusedError(f"the search failed: {type(error).__name__}", field="search", value=query) from error
        if not isinstance(results, Sequence) or not all(isinstance(result, SearchResult) for result in results):
            raise ComponentError(f"search returned {results!r}: must be a list of SearchResult", field="search")
        return results[:k]

    @property
    def _search(self) -> Search:
        if self.search is None:
            raise WebRefusedError("there is no search", field="search")
        return self.search

    def _take(self, tool: str, limit: int, what: str) -> None:
        """Account a call before it is made: side by side calls cannot share the last place."""
        with self._lock:
            if self._tried[tool] >= limit:
                raise WebRefusedError(f"all {limit} {what} of this run are used up", field="quota", value=limit)
            self._tried[tool] += 1

    def _canonical(self, url: str) -> str:
        try:
            return str(check_url(url, self.policy))
        except WebRefusedError:
            return ""


def _stored(text: str) -> str:
    """Cut a text and make it one that can be encoded; a model's may hold half a character."""
    return text[:_STORED_CHARS].encode("utf-8", "replace").decode("utf-8")


def _record(page: Page) -> dict[str, Any]:
    return {
        "url": page.url,
        "final_url": page.final_url,
        "status": page.status,
        "sha256": sha256(page.text),
        "chars": len(page.text),
    }


def _page_answer(source_id: str, page: Page, limit: int) -> str:
    # The URL too is inside the fence: a redirect's target is written by the page's owner.
    head = "\n".join(part for part in (f"URL: {page.final_url}", page.title and f"Title: {page.title}") if part)
    text = f"{head}\n\n{page.text[:limit]}"
    cut = f"\n[cut: the first {limit} of {len(page.text)} characters are shown]" if len(page.text) > limit else ""
    return f"Source id: {source_id}\n{marked(text, kind='web_page', source=source_id)}{cut}"


def _hit(url: str, result: SearchResult) -> str:
    parts = (one_line(result.title, _TITLE_CHARS), url, one_line(result.snippet, _SNIPPET_CHARS))
    return "\n".join(part for part in parts if part)
