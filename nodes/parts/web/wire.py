"""One request on one pinned connection, in blocking calls. Imported only on use: it needs httpcore."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpcore

from .addresses import WebURL
from .policy import WebPolicy, WebRefusedError

if TYPE_CHECKING:
    from .fetch import Connect

__all__ = ("Limits", "Reply", "dial", "request")

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# What headers, chunk marks and TLS may add to the bytes of a page.
_OVERHEAD = 262_144
_FAULTS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    httpcore.ConnectionNotAvailable,
)


class Limits:
    """What one opening may still take, over all its hops.

    Args:
        policy: Gives seconds and bytes.
    """

    def __init__(self, policy: WebPolicy) -> None:
        self.seconds = policy.timeout
        self._deadline = time.monotonic() + policy.timeout
        self._room = policy.max_bytes + _OVERHEAD

    def left(self) -> float:
        """Give the seconds that are left.

        Raises:
            WebRefusedError: There are none.
        """
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self.overdue()
        return left

    def overdue(self) -> WebRefusedError:
        """Make the error for an opening that took too long."""
        return WebRefusedError(f"the page took longer than {self.seconds:g} s", field="time", value=self.seconds)

    def took(self, count: int) -> None:
        """Account bytes that came in.

        Raises:
            WebRefusedError: They are too many.
        """
        self._room -= count
        if self._room < 0:
            raise WebRefusedError("the response is larger than is allowed", field="size")


@dataclass(frozen=True)
class Reply:
    """What one hop gave.

    Attributes:
        address: The tested IP address that was connected to.
        tls_name: The name asked for and verified in TLS; empty without TLS.
        status: The HTTP status.
        location: Where it redirects to; None if it does not.
        content_type: The Content-Type header.
        body: The page, its content encoding undone; empty for a redirect.
    """

    address: str
    tls_name: str
    status: int
    location: str | None = None
    content_type: str = ""
    body: bytes = b""


def dial(address: str, port: int, timeout: float) -> socket.socket:
    """Connect to an IP address. No name is ever resolved here.

    Args:
        address: An address in its usual spelling.
        port: The port.
        timeout: Seconds.

    Raises:
        OSError: It cannot be reached.
    """
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout)
        sock.connect((address, port))
    except BaseException:
        sock.close()
        raise
    return sock


def request(
    url: WebURL,
    addresses: Sequence[str],
    policy: WebPolicy,
    limits: Limits,
    connect: Connect,
    tls: ssl.SSLContext | None,
) -> Reply:
    """Get one URL from one of its tested addresses. No redirect is followed.

    Args:
        url: The checked URL.
        addresses: The tested addresses of its host, tried in order.
        policy: What a page may be.
        limits: What it may take.
        connect: Opens the connection.
        tls: Verifies certificates; needed for https.

    Raises:
        WebRefusedError: No page can be had, or not one that may be read.
    """
    backend = _Pinned(url, addresses, limits, connect)
    # A pool of its own for each hop: no connection, and nothing else, is carried from one hop to the next.
    pool = httpcore.ConnectionPool(ssl_context=tls, max_connections=1, http2=False, network_backend=backend)
    target = httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target)
    try:
        with pool, pool.stream("GET", target, headers=_headers(url, policy)) as response:
            reply = _read(response, policy, limits)
    except _FAULTS as error:
        why = f"there was no valid response: {type(error).__name__}"
        raise WebRefusedError(why, field="connection", value=str(url)) from error
    finally:
        backend.close()
    return Reply(backend.address, url.host if url.scheme == "https" else "", *reply)


def _headers(url: WebURL, policy: WebPolicy) -> list[tuple[str, str]]:
    return [
        ("Host", url.authority),
        ("User-Agent", policy.user_agent),
        ("Accept", ", ".join(sorted(policy.content_types))),
        ("Accept-Encoding", "gzip"),
        ("Connection", "close"),
    ]


# --- the connection ----------------------------------------------------------------------------------


class _Pinned(httpcore.NetworkBackend):
    """Connects to tested addresses only, whatever the name says by now."""

    def __init__(self, url: WebURL, addresses: Sequence[str], limits: Limits, connect: Connect) -> None:
        self.url = url
        self.addresses = addresses
        self.limits = limits
        self.connect = connect
        self.address = ""
        self.sock: socket.socket | None = None

    def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore.NetworkStream:
        """Connect to the first address that answers; each gets an equal share of the time."""
        if (host, port) != (self.url.host, self.url.port):
            raise WebRefusedError(f"{host}:{port} is not the checked host", field="host", value=host)
        fault = ""
        for index, address in enumerate(self.addresses):
            share = self.limits.left() / (len(self.addresses) - index)
            try:
                self.sock = self.connect(address, port, share)
            except OSError as error:
                fault = f"{address}: {_fault(error)}"
                continue
            self.address = address
            return _Stream(self.sock, self.limits)
        raise WebRefusedError(f"the host cannot be connected to: {fault}", field="connection", value=host)

    def close(self) -> None:
        """Close what a failed TLS handshake may have left open."""
        if self.sock is not None:
            self.sock.close()


class _Stream(httpcore.NetworkStream):
    """A socket whose every operation ends with the time of the whole opening.

    A time-out per operation would let a server send one byte at a time for ever.
    """

    def __init__(self, sock: socket.socket, limits: Limits) -> None:
        self.sock = sock
        self.limits = limits

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there."""
        with self._bounded():
            data = self.sock.recv(max_bytes)
        self.limits.took(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it."""
        with self._bounded():
            self.sock.sendall(buffer)

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Verify the certificate against the URL's host, whichever address was connected to."""
        with self._bounded():
            return _Stream(ssl_context.wrap_socket(self.sock, server_hostname=server_hostname), self.limits)

    def get_extra_info(self, info: str) -> Any:
        """Give what httpcore asks for: whether TLS was set up, and the socket."""
        if info == "ssl_object":
            return self.sock if isinstance(self.sock, ssl.SSLSocket) else None
        return self.sock if info == "socket" else None

    @contextlib.contextmanager
    def _bounded(self) -> Iterator[None]:
        self.sock.settimeout(self.limits.left())
        try:
            yield
        except TimeoutError as error:
            raise self.limits.overdue() from error
        except OSError as error:
            raise WebRefusedError(f"the connection failed: {_fault(error)}", field="connection") from error


def _fault(error: OSError) -> str:
    """Name a fault in words that no server wrote."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "the certificate is not valid for the host"
    return os.strerror(error.errno) if error.errno and not isinstance(error, ssl.SSLError) else type(error).__name__


# --- the response ------------------------------------------------------------------------------------


def _read(response: httpcore.Response, policy: WebPolicy, limits: Limits) -> tuple[int, str | None, str, bytes]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("utf-8", "replace").strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    status = response.status
    if status in _REDIRECTS and "location" in headers:
        return status, headers["location"], "", b""
    if not 200 <= status < 300:
        raise WebRefusedError(f"the server answered with status {status}", field="status", value=status)
    content_type = headers.get("content-type", "")
    _check_type(content_type, headers.get("content-disposition", ""), policy)
    chunks = _Decoded(headers.get("content-encoding", ""), policy.max_bytes)
    body = bytearray()
    for chunk in response.iter_stream():
        body += chunks.feed(chunk)
        limits.left()
    chunks.end()
    if body.startswith(b"%PDF-"):
        raise WebRefusedError("the page is a PDF", field="content_type", value=content_type)
    return status, None, content_type, bytes(body)


def _check_type(content_type: str, disposition: str, policy: WebPolicy) -> None:
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in policy.content_types:
        allowed = ", ".join(sorted(policy.content_types))
        why = f"the page's content type is not read, only {allowed}"
        raise WebRefusedError(why, field="content_type", value=content_type)
    if disposition and disposition.partition(";")[0].strip().lower() != "inline":
        raise WebRefusedError("the page is a download", field="content_type", value=disposition)


class _Decoded:
    """Undoes one content encoding and never makes more bytes than are allowed, even from one small chunk.

    Args:
        encoding: The Content-Encoding header.
        room: Bytes that may come out.
    """

    def __init__(self, encoding: str, room: int) -> None:
        name = encoding.lower()
        if name not in ("", "identity", "gzip", "x-gzip"):
            raise WebRefusedError("the page's content encoding is not read", field="encoding", value=encoding)
        self.room = room
        self.inflater = zlib.decompressobj(zlib.MAX_WBITS | 16) if name.endswith("gzip") else None

    def feed(self, chunk: bytes) -> bytes:
        """Decode a chunk.

        Raises:
            WebRefusedError: It is broken, or the page is too large.
        """
        if self.inflater is not None:
            try:
                # One byte above the room shows that it is not enough.
                chunk = self.inflater.decompress(chunk, self.room + 1)
            except zlib.error as error:
                raise WebRefusedError("the page cannot be decompressed", field="encoding") from error
            if self.inflater.unused_data:
                raise WebRefusedError("something follows the compressed page", field="encoding")
        self.room -= len(chunk)
        if self.room < 0:
            raise WebRefusedError("the page is larger than is allowed", field="size")
        return chunk

    def end(self) -> None:
        """Make sure that nothing is missing.

        Raises:
            WebRefusedError: The compressed page is cut off.
        """
        if self.inflater is not None and not self.inflater.eof:
            raise WebRefusedError("the compressed page is cut off", field="encoding")
