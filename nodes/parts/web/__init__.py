"""Web tools for validators: a bounded, read-only view of public pages (extra `web`)."""

from .addresses import WebURL, check_address, check_url
from .fetch import Connect, Fetcher, Hop, Page, Resolver
from .policy import WebPolicy, WebRefusedError
from .search import Search, SearchResult, SerperSearch
from .tools import OPEN_URL, WEB_SEARCH, WebSession

__all__ = (
    "OPEN_URL",
    "WEB_SEARCH",
    "Connect",
    "Fetcher",
    "Hop",
    "Page",
    "Resolver",
    "Search",
    "SearchResult",
    "SerperSearch",
    "WebPolicy",
    "WebRefusedError",
    "WebSession",
    "WebURL",
    "check_address",
    "check_url",
)
