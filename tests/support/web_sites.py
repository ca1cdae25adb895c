"""Web servers on loopback that note what reaches them, and a connector that stands public addresses in for them."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

CERTS = Path(__file__).parents[1] / "web" / "certs"


@dataclass(frozen=True)
class Seen:
    """One request as its server saw it."""

    target: str
    host: str
    sni: str | None
    peer: tuple[str, int]
    headers: tuple[tuple[str, str], ...]
    body: bytes  # as much of it as came with the headers


Answer = Callable[[Seen, socket.socket], None]


def response(body: bytes = b"", *, status: int = 200, kind: str = "text/html; charset=utf-8", **headers: str) -> bytes:
    """Write a whole HTTP response; `_` in a header's name stands for `-`."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def says(
    body: bytes = b"<p>hello</p>", *, status: int = 200, kind: str = "text/html; charset=utf-8", **headers: str
) -> Answer:
    return lambda _, sock: sock.sendall(response(body, status=status, kind=kind, **headers))


def redirects(location: str, status: int = 302) -> Answer:
    return lambda _, sock: sock.sendall(response(b"moved", status=status, Location=location))


@dataclass(eq=False)
class Site:
    """A server; `pages` says what it answers, by path."""

    pages: dict[str, Answer] = field(default_factory=dict)
    tls: bool = False
    connections: int = 0
    seen: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.server = self.bind()
        self.address: tuple[str, int] = self.server.getsockname()
        self.threads: list[threading.Thread] = []
        self.context = _server_context(self) if self.tls else None
        self.sni: dict[int, str | None] = {}
        self.stopped = threading.Event()
        self._spawn(self._accept)

    def bind(self) -> socket.socket:
        return socket.create_server(("127.0.0.1", 0))

    def _spawn(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while not self.stopped.is_set():
                sock, peer = self.server.accept()
                if self.stopped.is_set():
                    sock.close()
                    return
                self.connections += 1
                self._spawn(self._serve, sock, peer)

    def _serve(self, sock: socket.socket, peer: tuple[str, int]) -> None:
        # A client that leaves early is what many tests are about.
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.enter_context(sock)
            sock.settimeout(10)
            if self.context is not None:
                sock = stack.enter_context(self.context.wrap_socket(sock, server_side=True))
            request = b""
            while b"\r\n\r\n" not in request:
                more = sock.recv(65_536)
                if not more:
                    return
                request += more
            seen = self._note(request.decode("latin-1"), sock, peer)
            self.pages.get(seen.target, says(b"none", status=404))(seen, sock)

    def _note(self, request: str, sock: socket.socket, peer: tuple[str, int]) -> Seen:
        head, _, body = request.partition("\r\n\r\n")
        first, *lines = head.split("\r\n")
        headers = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
        host = ", ".join(value for name, value in headers if name.lower() == "host")
        seen = Seen(first.split()[1], host, self.sni.get(id(sock)), peer, headers, body.encode("latin-1"))
        self.seen.append(seen)
        return seen

    def close(self) -> None:
        self.stopped.set()
        with contextlib.suppress(OSError):  # wakes the accept
            socket.create_connection(self.address, timeout=1).close()
        for thread in self.threads:
            thread.join(5)
        self.server.close()


def _server_context(site: Site) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTS / "site.pem")

    def note(sock: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        site.sni[id(sock)] = name

    context.sni_callback = note
    return context


def client_context() -> ssl.SSLContext:
    """Trusts the tests' own authority and nothing else."""
    return ssl.create_default_context(cafile=CERTS / "ca.pem")


class Net:
    """Stands public addresses in for sites, and notes each connection: what was asked for and the socket's real peer.

    An address without a site is refused, as by a machine that does not listen.
    """

    def __init__(self) -> None:
        self.sites: dict[tuple[str, int], Site] = {}
        self.dialed: list[tuple[str, int]] = []
        self.peers: list[tuple[str, int]] = []

    def connect(self, address: str, port: int, timeout: float) -> socket.socket:
        self.dialed.append((address, port))
        site = self.sites.get((address, port))
        if site is None:
            raise ConnectionRefusedError(f"nothing listens at {address}:{port}")
        sock = socket.create_connection(site.address, timeout=timeout)
        self.peers.append(sock.getpeername())
        return sock

    def site(self, address: str, port: int, pages: dict[str, Answer] | None = None, *, tls: bool = False) -> Site:
        site = self.sites[address, port] = Site(pages or {}, tls=tls)
        return site

    def close(self) -> None:
        for site in self.sites.values():
            site.close()


class Names:
    """A resolver that gives its answers in turn, the last one for ever, and counts the questions."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): list(turns) for name, turns in answers.items()}
        self.asked: list[str] = []

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        if host not in self.answers:
            raise OSError(f"no such name: {host}")
        turns = self.answers[host]
        return turns.pop(0) if len(turns) > 1 else turns[0]


@contextlib.contextmanager
def network() -> Iterator[Net]:
    net = Net()
    try:
        yield net
    finally:
        net.close()
