"""The adapter for Serper, against a local stand-in."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from langgraph_recursive.nodes.parts.web import SearchResult, SerperSearch, WebRefusedError
from langgraph_recursive.state.errors import InvalidInputError, MissingDependencyError
from web_sites import Seen, Site, redirects, response, says

KEY = "secret-key"


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


def search(site: Site, **options: Any) -> SerperSearch:
    return SerperSearch(KEY, endpoint="http://{}:{}/search".format(*site.address), **options)


def test_results_are_read(site: Site) -> None:
    bodies: list[bytes] = []

    def answer(seen: Seen, sock: socket.socket) -> None:
        headers = {name.lower(): value for name, value in seen.headers}
        assert headers["x-api-key"] == KEY
        assert headers["content-type"] == "application/json"
        length = int(headers["content-length"])
        bodies.append(seen.body if len(seen.body) == length else seen.body + sock.recv(length))
        organic = [
            {"title": "One", "link": "https://one.example.com/", "snippet": "first", "position": 1},
            {"title": None, "link": "https://two.example.com/"},
            {"title": "no link"},
            "no hit",
            {"link": "https://three.example.com/"},
        ]
        sock.sendall(response(json.dumps({"organic": organic}).encode(), kind="application/json"))

    site.pages["/search"] = answer
    assert search(site)("what is it", 2) == [
        SearchResult(url="https://one.example.com/", title="One", snippet="first"),
        SearchResult(url="https://two.example.com/"),
    ]
    assert json.loads(bodies[0]) == {"q": "what is it", "num": 2}


def test_a_client_may_be_given(site: Site) -> None:
    site.pages["/search"] = says(b'{"organic": []}')
    with httpx.Client(headers={"X-Own": "1"}) as client:
        assert search(site, client=client)("q", 1) == []
    assert ("X-Own", "1") in site.seen[0].headers


@pytest.mark.parametrize(
    "answer",
    [
        says(b"no", status=403),
        says(b"no", status=500),
        redirects("http://127.0.0.1:9/"),
        says(b"not json"),
        says(b"[]"),
        says(b"{}"),
        says(b'{"organic": {}}'),
        says(b"[" * 100_000),
        says(b"\xff"),
        says(b"x" * 3_000_000),
        lambda _, sock: sock.close(),
        lambda _, sock: sock.recv(1),
    ],
)
def test_a_failed_search_is_a_refusal_that_does_not_show_the_key(site: Site, answer: Any) -> None:
    site.pages["/search"] = answer
    with pytest.raises(WebRefusedError) as caught:
        search(site, timeout=0.5)("q", 3)
    assert caught.value.field == "search"
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_endpoint_that_is_not_there_is_a_refusal() -> None:
    with pytest.raises(WebRefusedError, match="ConnectError"):
        SerperSearch(KEY, endpoint="http://127.0.0.1:1/")("q", 1)


def test_the_key_is_needed_and_not_shown() -> None:
    with pytest.raises(InvalidInputError):
        SerperSearch(" ")
    assert KEY not in repr(SerperSearch(KEY))


def test_httpx_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "langgraph-recursive\[web\]"'):
        SerperSearch(KEY)
