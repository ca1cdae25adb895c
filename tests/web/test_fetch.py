"""Fetching: the socket's peer, the TLS name and the Host header of every hop, and every bound."""

import contextlib
import gzip
import importlib
import socket
import ssl
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langgraph_recursive.nodes import parts
from langgraph_recursive.nodes.effects import drive
from langgraph_recursive.nodes.parts import web
from langgraph_recursive.nodes.parts.web import Fetcher, Page, WebPolicy, WebRefusedError
from langgraph_recursive.nodes.parts.web.wire import dial
from langgraph_recursive.state.errors import ComponentError, InvalidInputError, MissingDependencyError
from web_sites import Names, Net, Seen, Site, client_context, redirects, response, says

ONE, TWO, THREE = "93.184.216.34", "93.184.216.35", "2606:4700:4700::1111"
LOCAL = "127.0.0.1"
CALLS = "langgraph-recursive-call"  # the name of the threads that calls run in
Perform = Callable[[Any], Page]


def fetcher(net: Net, names: Any = None, **limits: Any) -> Fetcher:
    names = names or Names(one_example_com=[[ONE]], two_example_com=[[TWO]])
    policy = WebPolicy(**{"timeout": 10, **limits})
    return Fetcher(policy, resolver=names, connect=net.connect, tls=client_context())


def refusal(perform: Callable[[Any], Any], body: Any) -> WebRefusedError:
    with pytest.raises(WebRefusedError) as caught:
        perform(body)
    return caught.value


# --- who is talked to --------------------------------------------------------------------------------


def test_every_hop_goes_to_its_tested_address_under_its_own_name(net: Net, perform: Perform) -> None:
    first = net.site(ONE, 80, {"/a": redirects("https://two.example.com/b")})
    second = net.site(TWO, 443, {"/b": redirects("https://one.example.com/c?d")}, tls=True)
    third = net.site(ONE, 443, {"/c?d": says()}, tls=True)
    page = perform(fetcher(net).fetch("http://one.example.com/a"))

    assert net.dialed == [(ONE, 80), (TWO, 443), (ONE, 443)]
    assert net.peers == [first.address, second.address, third.address]
    assert [site.connections for site in (first, second, third)] == [1, 1, 1]
    hops = [(seen.host, seen.sni, seen.target) for site in (first, second, third) for seen in site.seen]
    assert hops == [
        ("one.example.com", None, "/a"),
        ("two.example.com", "two.example.com", "/b"),
        ("one.example.com", "one.example.com", "/c?d"),
    ]
    assert [(hop.address, hop.tls_name, hop.host_header, hop.status) for hop in page.hops] == [
        (ONE, "", "one.example.com", 302),
        (TWO, "two.example.com", "two.example.com", 302),
        (ONE, "one.example.com", "one.example.com", 200),
    ]
    assert (page.url, page.final_url, page.text) == (
        "http://one.example.com/a",
        "https://one.example.com/c?d",
        "hello",
    )


def test_a_name_that_turns_private_after_the_check_is_not_asked_again(net: Net, perform: Perform) -> None:
    real = net.site(ONE, 443, {"/": says()}, tls=True)
    trap = net.site(LOCAL, 443, {"/": says(b"secret")}, tls=True)
    names = Names(one_example_com=[[ONE], [LOCAL]])
    page = perform(fetcher(net, names).fetch("https://one.example.com/"))
    assert page.text == "hello"
    assert names.asked == ["one.example.com"]
    assert (net.dialed, net.peers) == ([(ONE, 443)], [real.address])
    assert [(seen.host, seen.sni) for seen in real.seen] == [("one.example.com", "one.example.com")]
    assert trap.connections == 0


@pytest.mark.parametrize(
    "private", [LOCAL, "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
)
def test_a_name_that_turns_private_before_the_next_hop_is_refused(net: Net, perform: Perform, private: str) -> None:
    net.site(ONE, 80, {"/": redirects("/again")})
    trap = net.site(private, 80, {"/again": says(b"secret")})
    names = Names(one_example_com=[[ONE], [private]])
    error = refusal(perform, fetcher(net, names).fetch("http://one.example.com/"))
    assert error.field == "address"
    assert net.dialed == [(ONE, 80)]
    assert trap.connections == 0


@pytest.mark.parametrize("found", [[ONE, LOCAL], [LOCAL, ONE], ["::1"], [THREE, "fe80::1%eth0"], ["0x7f.1"], [ONE, ""]])
def test_a_name_with_any_refused_address_is_not_connected_to(net: Net, perform: Perform, found: list[str]) -> None:
    net.site(ONE, 80, {"/": says()})
    error = refusal(perform, fetcher(net, Names(one_example_com=[found])).fetch("http://one.example.com/"))
    assert error.field == "address"
    assert net.dialed == []


@pytest.mark.parametrize("found", [[], [ONE] * 100])
def test_a_name_with_no_or_too_many_addresses_is_refused(net: Net, perform: Perform, found: list[str]) -> None:
    error = refusal(perform, fetcher(net, Names(one_example_com=[found])).fetch("http://one.example.com/"))
    assert (error.field, net.dialed) == ("dns", [])


def test_the_next_address_is_tried_when_one_does_not_answer(net: Net, perform: Perform) -> None:
    net.site(ONE, 80, {"/": says()})
    page = perform(fetcher(net, Names(one_example_com=[[THREE, TWO, ONE]])).fetch("http://one.example.com/"))
    assert net.dialed == [(THREE, 80), (TWO, 80), (ONE, 80)]
    assert page.hops[0].address == ONE
    assert page.hops[0].addresses == (THREE, TWO, ONE)


def test_an_address_in_the_url_is_verified_as_an_address(net: Net, perform: Perform) -> None:
    site = net.site(ONE, 443, {"/": says()}, tls=True)
    names = Names()
    page = perform(fetcher(net, names).fetch(f"https://{ONE}/"))
    assert (page.text, names.asked) == ("hello", [])
    assert [(seen.host, seen.sni) for seen in site.seen] == [(ONE, None)]


def test_the_certificate_must_be_for_the_name_and_not_for_the_address(net: Net, perform: Perform) -> None:
    # The certificate is good for the address that is connected to, and for another name.
    site = net.site(ONE, 443, {"/": says()}, tls=True)
    names = Names(three_example_com=[[ONE]])
    error = refusal(perform, fetcher(net, names).fetch("https://three.example.com/"))
    assert error.field == "connection"
    assert "certificate" in str(error)
    assert (site.seen, net.dialed) == ([], [(ONE, 443)])


def test_a_certificate_of_an_unknown_authority_is_refused(net: Net, perform: Perform) -> None:
    site = net.site(ONE, 443, {"/": says()}, tls=True)
    strict = Fetcher(WebPolicy(), resolver=Names(one_example_com=[[ONE]]), connect=net.connect)
    error = refusal(perform, strict.fetch("https://one.example.com/"))
    assert (error.field, site.seen) == ("connection", [])


def test_a_tls_context_that_verifies_nothing_is_refused() -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    with pytest.raises(InvalidInputError):
        Fetcher(WebPolicy(), tls=context)
    context.verify_mode = ssl.CERT_NONE
    with pytest.raises(InvalidInputError):
        Fetcher(WebPolicy(), tls=context)


def test_nothing_but_the_page_is_asked_for(net: Net, perform: Perform, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    first = net.site(ONE, 80, {"/": lambda _, sock: sock.sendall(cookie_redirect())})
    second = net.site(TWO, 80, {"/": says()})
    perform(fetcher(net, user_agent="agent/1").fetch("http://one.example.com/"))
    for site, host in ((first, "one.example.com"), (second, "two.example.com")):
        (seen,) = site.seen
        assert seen.headers == (
            ("Host", host),
            ("User-Agent", "agent/1"),
            ("Accept", "application/xhtml+xml, text/html, text/plain"),
            ("Accept-Encoding", "gzip"),
            ("Connection", "close"),
        )


def cookie_redirect() -> bytes:
    return response(b"", status=302, Location="http://two.example.com/", Set_Cookie="id=1; Domain=example.com; Path=/")


# --- redirects ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_each_kind_of_redirect_is_followed_with_get(net: Net, status: int) -> None:
    net.site(ONE, 80, {"/": redirects("/b", status), "/b": says()})
    assert drive(fetcher(net).fetch("http://one.example.com/")).status == 200


@pytest.mark.parametrize(
    ("rule", "location"),
    [
        ("address", f"http://{LOCAL}/"),
        ("address", "http://[::1]/"),
        ("address", "http://[::ffff:127.0.0.1]/"),
        ("address", "http://169.254.169.254/latest/meta-data/"),
        ("host", "http://localhost/"),
        ("host", "http://2130706433/"),
        ("host", "http://127.1/"),
        ("host", "http://one.example.com./"),
        ("port", "http://one.example.com:8080/"),
        ("port", f"http://{ONE}:22/"),
        ("userinfo", "http://user:pass@two.example.com/"),
        ("scheme", "ftp://one.example.com/"),
        ("scheme", "file:///etc/passwd"),
        ("url", "/a b"),
        ("dns", "http://unknown.example.com/"),
    ],
)
def test_a_redirect_to_what_may_not_be_opened_is_refused(net: Net, perform: Perform, rule: str, location: str) -> None:
    net.site(ONE, 80, {"/": redirects(location)})
    trap = net.site(LOCAL, 80, {"/": says(b"secret")})
    error = refusal(perform, fetcher(net).fetch("http://one.example.com/"))
    assert error.field == rule
    assert net.dialed == [(ONE, 80)]
    assert trap.connections == 0


def test_a_redirect_from_https_to_http_is_refused(net: Net, perform: Perform) -> None:
    net.site(ONE, 443, {"/": redirects("http://one.example.com/")}, tls=True)
    plain = net.site(ONE, 80, {"/": says()})
    error = refusal(perform, fetcher(net).fetch("https://one.example.com/"))
    assert (error.field, plain.connections) == ("redirect", 0)


def test_redirects_in_a_circle_are_refused(net: Net, perform: Perform) -> None:
    site = net.site(ONE, 80, {"/a": redirects("/b"), "/b": redirects("/a#again")})
    assert refusal(perform, fetcher(net).fetch("http://one.example.com/a")).field == "redirect"
    assert site.connections == 2


def test_redirects_are_bounded(net: Net, perform: Perform) -> None:
    pages = {f"/{n}": redirects(f"/{n + 1}") for n in range(10)}
    site = net.site(ONE, 80, {**pages, "/10": says()})
    assert refusal(perform, fetcher(net, max_redirects=9).fetch("http://one.example.com/0")).field == "redirect"
    assert site.connections == 10
    assert perform(fetcher(net, max_redirects=10).fetch("http://one.example.com/0")).text == "hello"
    assert refusal(perform, fetcher(net, max_redirects=0).fetch("http://one.example.com/0")).field == "redirect"


# --- what a page may be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("status", says(status=404)),
        ("status", says(status=401, WWW_Authenticate="Basic")),
        ("status", says(status=500)),
        ("status", says(status=304)),
        ("status", says(status=302)),  # it does not say where to
        ("content_type", says(kind="application/pdf")),
        ("content_type", says(kind="application/octet-stream")),
        ("content_type", says(kind="application/json")),
        ("content_type", says(kind="image/svg+xml")),
        ("content_type", says(kind="")),
        ("content_type", says(kind="multipart/mixed; boundary=text/html")),
        ("content_type", says(b"%PDF-1.7 ...")),
        ("content_type", says(Content_Disposition="attachment")),
        ("content_type", says(Content_Disposition='ATTACHMENT; filename="a.html"')),
        ("content_type", says(Content_Disposition="download")),
        ("encoding", says(Content_Encoding="br")),
        ("encoding", says(Content_Encoding="gzip, gzip")),
        ("encoding", says(Content_Encoding="gzip")),  # it is not
        ("encoding", says(gzip.compress(b"hello" * 999)[:-9], Content_Encoding="gzip")),
        ("encoding", says(gzip.compress(b"hello") + b"more", Content_Encoding="gzip")),
    ],
)
def test_what_is_no_readable_page_is_refused(net: Net, rule: str, answer: Any) -> None:
    net.site(ONE, 80, {"/": answer})
    assert refusal(drive, fetcher(net).fetch("http://one.example.com/")).field == rule


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/html\r\n\r\nhel",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 300_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x00\x05hello",
    ],
)
def test_a_broken_response_is_a_refusal(net: Net, perform: Perform, raw: bytes) -> None:
    net.site(ONE, 80, {"/": lambda _, sock: sock.sendall(raw)})
    error = refusal(perform, fetcher(net).fetch("http://one.example.com/"))
    assert error.field in {"connection", "status"}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=200), st.binary(max_size=200).map(lambda tail: b"HTTP/1.1 200 OK\r\n" + tail)))
def test_no_response_raises_anything_but_a_refusal(net: Net, raw: bytes) -> None:
    if (ONE, 80) not in net.sites:
        net.site(ONE, 80)
    net.sites[ONE, 80].pages["/"] = lambda _, sock: sock.sendall(raw)
    with contextlib.suppress(WebRefusedError):
        drive(fetcher(net).fetch("http://one.example.com/"))


def test_a_compressed_page_is_read(net: Net, perform: Perform) -> None:
    net.site(ONE, 80, {"/": says(gzip.compress(b"<p>hello" * 1_000), Content_Encoding="gzip")})
    assert perform(fetcher(net).fetch("http://one.example.com/")).text.count("hello") == 1_000


def test_a_page_of_just_the_allowed_size_is_read_and_one_byte_more_is_not(net: Net, perform: Perform) -> None:
    body = b"x" * 1_000
    net.site(ONE, 80, {"/": says(body), "/z": says(gzip.compress(body), Content_Encoding="gzip")})
    for path in ("", "z"):
        assert perform(fetcher(net, max_bytes=1_000).fetch(f"http://one.example.com/{path}")).text == body.decode()
        error = refusal(perform, fetcher(net, max_bytes=999).fetch(f"http://one.example.com/{path}"))
        assert error.field == "size"


def test_a_compression_bomb_is_never_inflated(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(b"\0" * 100_000_000, 9)
    assert len(bomb) < 100_000
    net.site(ONE, 80, {"/": says(bomb, Content_Encoding="gzip")})
    largest = 0
    made = zlib.decompressobj

    class Watched:
        def __init__(self, *args: Any) -> None:
            self.inner = made(*args)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

        def decompress(self, data: bytes, limit: int) -> bytes:
            nonlocal largest
            out = self.inner.decompress(data, limit)
            largest = max(largest, len(out))
            return out

    monkeypatch.setattr(zlib, "decompressobj", Watched)
    assert refusal(drive, fetcher(net, max_bytes=50_000).fetch("http://one.example.com/")).field == "size"
    assert largest == 50_001


def test_a_page_without_end_is_left(net: Net, perform: Perform) -> None:
    sent = []

    def pour(_: Seen, sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:  # until the client is gone
            sent.append(sock.send(b"x" * 65_536))

    net.site(ONE, 80, {"/": pour})
    assert refusal(perform, fetcher(net, max_bytes=100_000).fetch("http://one.example.com/")).field == "size"
    net.close()
    assert sum(sent) < 20_000_000


def test_chunk_marks_count_too(net: Net) -> None:
    def pour(_: Seen, sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            sock.sendall((b"1;" + b"e" * 4_000 + b"\r\nx\r\n") * 20)

    net.site(ONE, 80, {"/": pour})
    assert refusal(drive, fetcher(net, max_bytes=1_000_000).fetch("http://one.example.com/")).field == "size"


# --- time --------------------------------------------------------------------------------------------


def silent(_: Seen, sock: socket.socket) -> None:
    sock.recv(1)  # until the client is gone


def drop_by_drop(head: bytes) -> Callable[[Seen, socket.socket], None]:
    def answer(_: Seen, sock: socket.socket) -> None:
        sock.sendall(head)
        while True:
            sock.sendall(b"x")
            time.sleep(0.02)

    return answer


def late_redirects(seen: Seen, sock: socket.socket) -> None:
    time.sleep(0.2)
    redirects(f"/{int(seen.target[1:] or 0) + 1}")(seen, sock)


@pytest.mark.parametrize(
    "answer",
    [
        silent,
        drop_by_drop(b"HTTP/1.1 200 OK\r\nX: "),
        drop_by_drop(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
    ],
    ids=["silent", "slow headers", "slow body"],
)
def test_a_slow_page_is_left_in_time(net: Net, perform: Perform, answer: Any) -> None:
    before = set(threading.enumerate())
    net.site(ONE, 80, {"/": answer})
    start = time.monotonic()
    assert refusal(perform, fetcher(net, timeout=0.3).fetch("http://one.example.com/")).field == "time"
    assert time.monotonic() - start < 3
    # Nor does a thread stay with it.
    while any(thread.name == CALLS for thread in set(threading.enumerate()) - before):
        assert time.monotonic() - start < 3
        time.sleep(0.01)


def test_the_time_is_for_all_hops_together(net: Net, perform: Perform) -> None:
    site = net.site(ONE, 80, {"/": late_redirects, **{f"/{n}": late_redirects for n in range(20)}})
    error = refusal(perform, fetcher(net, timeout=0.7, max_redirects=20).fetch("http://one.example.com/"))
    assert error.field == "time"
    assert site.connections <= 4


def test_a_tls_handshake_that_never_ends_is_left_in_time(net: Net, perform: Perform) -> None:
    site = net.site(ONE, 443, tls=False)  # it waits for a request and never says hello
    start = time.monotonic()
    assert refusal(perform, fetcher(net, timeout=0.3).fetch("https://one.example.com/")).field == "time"
    assert time.monotonic() - start < 3
    assert site.seen == []


def test_a_resolver_that_never_answers_is_left_in_time(net: Net, perform: Perform) -> None:
    done = threading.Event()

    def stuck(_: str) -> Sequence[str]:
        done.wait(20)
        return [ONE]

    start = time.monotonic()
    assert refusal(perform, fetcher(net, stuck, timeout=0.3).fetch("http://one.example.com/")).field == "time"
    assert time.monotonic() - start < 3
    done.set()
    assert net.dialed == []


# --- the rest ----------------------------------------------------------------------------------------


def test_a_resolver_may_be_async(net: Net, perform: Perform) -> None:
    async def names(host: str) -> Sequence[str]:
        return [ONE]

    net.site(ONE, 80, {"/": says()})
    assert perform(fetcher(net, names).fetch("http://one.example.com/")).text == "hello"


@pytest.mark.parametrize("found", [ONE, None, {ONE}])
def test_a_resolver_of_the_wrong_shape_is_an_error(net: Net, perform: Perform, found: Any) -> None:
    with pytest.raises(ComponentError):
        perform(fetcher(net, lambda host: found).fetch("http://one.example.com/"))
    assert net.dialed == []


@pytest.mark.parametrize("fault", [OSError("down"), UnicodeError("label too long"), socket.gaierror(-2, "unknown")])
def test_a_name_that_cannot_be_resolved_is_a_refusal(net: Net, perform: Perform, fault: Exception) -> None:
    def names(host: str) -> Sequence[str]:
        raise fault

    assert refusal(perform, fetcher(net, names).fetch("http://one.example.com/")).field == "dns"


def test_dial_connects_to_the_address_it_is_given() -> None:
    site = Site()
    try:
        sock = dial(*site.address, 5)
        with sock:
            assert sock.getpeername() == site.address
    finally:
        site.close()
    with pytest.raises(OSError, match=r".+"):
        dial("localhost.invalid", 80, 1)


def test_httpx_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpcore", None)
    monkeypatch.delitem(sys.modules, "langgraph_recursive.nodes.parts.web.wire")
    with pytest.raises(MissingDependencyError, match=r'pip install "langgraph-recursive\[web\]"'):
        Fetcher(WebPolicy())


def test_the_tools_import_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    # LangGraph brings httpx today; these modules do not count on it.
    package = "langgraph_recursive.nodes.parts.web"
    monkeypatch.setattr(parts, "web", web)  # put back afterwards
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("httpx", "httpcore"):
        monkeypatch.setitem(sys.modules, name, None)
    again = importlib.import_module(package)
    assert again is not web
    assert set(web.__all__) <= set(dir(again))


def test_real_sockets_under_real_addresses(tmp_path: Path) -> None:
    """The production connector, in a network of its own where a public address is this machine's."""
    script = Path(__file__).with_name("own_network.py")
    shell = f"ip link set lo up && ip addr add {ONE}/32 dev lo && exec {sys.executable} {script}"
    try:
        done = subprocess.run(
            ["unshare", "-rn", "sh", "-c", shell], capture_output=True, text=True, timeout=120, cwd=tmp_path
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if "unshare:" in done.stderr or "ip:" in done.stderr or "RTNETLINK" in done.stderr:
        pytest.skip("no network namespace may be made here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"{ONE}:443", "one.example.com", "one.example.com", "hello", "untouched"]
