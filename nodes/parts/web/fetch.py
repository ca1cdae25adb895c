"""Fetching a page: every hop checked, its name resolved once, its connection pinned."""

from __future__ import annotations

import functools
import importlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langgraph_recursive.state.errors import (
    CallTimeoutError,
    ComponentError,
    InvalidInputError,
    MissingDependencyError,
)

from ...effects import Invoke
from .addresses import WebURL, check_address, check_addresses, check_redirect, check_url
from .page import read_page
from .policy import WebPolicy, WebRefusedError

if TYPE_CHECKING:
    from .wire import Limits, Reply

__all__ = ("Connect", "Fetcher", "Hop", "Page", "Resolver", "resolve")

Resolver = Callable[[str], Sequence[str] | Awaitable[Sequence[str]]]
"""Gives the IP addresses of a host name, sync or async; raises `OSError` when there are none."""

Connect = Callable[[str, int, float], socket.socket]
"""Opens a TCP connection to an IP address and a port, within so many seconds; raises `OSError`. It is given tested
addresses only, and takes no part in what is allowed."""

_REMEDY = 'pip install "langgraph-recursive[web]"'
# The thread of a call ends by itself when its time is over; only one that does not is left behind.
_GRACE = 0.2


@dataclass(frozen=True)
class Hop:
    """One request on the way to a page.

    Attributes:
        url: The checked URL.
        addresses: All addresses of its host, each tested.
        address: The one that was connected to.
        host_header: The Host header that was sent.
        tls_name: The name that TLS asked for and the certificate was verified against; empty for http.
        status: The HTTP status.
    """

    url: str
    addresses: tuple[str, ...]
    address: str
    host_header: str
    tls_name: str
    status: int


@dataclass(frozen=True)
class Page:
    """A page as it was read.

    Attributes:
        url: The URL asked for, in canonical form.
        final_url: The URL after all redirects.
        status: The HTTP status, 200 to 299.
        title: The title of an HTML page, on one line.
        text: All of its text.
        hops: The requests that led to it, in order.
    """

    url: str
    final_url: str
    status: int
    title: str
    text: str
    hops: tuple[Hop, ...]


def resolve(host: str) -> list[str]:
    """Ask the system for a host's addresses.

    Args:
        host: A DNS name.

    Raises:
        OSError: It has none.
    """
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class Fetcher:
    """Opens pages under one policy. It keeps no cookies, no connections and nothing else between two pages.

    Args:
        policy: The limits.
        resolver: Gives the addresses of a name; the system's resolver by default. It is asked once per hop, and what
            it says later has no effect.
        connect: Opens connections; by default to exactly the address it is given.
        tls: Verifies certificates; by default against the roots that httpx trusts.

    Raises:
        InvalidInputError: `tls` does not verify certificates and names.
        MissingDependencyError: httpx is not installed.
    """

    def __init__(
        self,
        policy: WebPolicy,
        *,
        resolver: Resolver = resolve,
        connect: Connect | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if tls is not None and (tls.verify_mode != ssl.CERT_REQUIRED or not tls.check_hostname):
            raise InvalidInputError("tls: must verify certificates and host names", field="tls", value=tls)
        self.policy = policy
        self.resolver = resolver
        self.wire = _needed(".wire", package=__package__)
        self.connect: Connect = connect or self.wire.dial
        self._tls = tls

    @functools.cached_property
    def tls(self) -> ssl.SSLContext:
        """What verifies certificates; made on first use, as it reads many roots."""
        if self._tls is not None:
            return self._tls
        # The environment may not add roots: what it names was meant for other programs.
        context: ssl.SSLContext = _needed("httpx").create_ssl_context(trust_env=False)
        return context

    async def fetch(self, url: str) -> Page:
        """Open a page: a body of effects, for `drive` or `adrive`.

        Args:
            url: The URL.

        Raises:
            WebRefusedError: It may not be opened or cannot be; `field` names the rule.
        """
        limits: Limits = self.wire.Limits(self.policy)
        first = current = check_url(url, self.policy)
        hops: list[Hop] = []
        for _ in range(self.policy.max_redirects + 1):
            addresses = await self._addresses(current, limits)
            reply = await self._request(current, addresses, limits)
            hops.append(_hop(current, addresses, reply))
            if reply.location is None:
                call = functools.partial(read_page, reply.body, reply.content_type)
                title, text = await _within(limits, call)
                return Page(str(first), str(current), reply.status, title, text, tuple(hops))
            current = check_redirect(current, reply.location, self.policy)
            if str(current) in {hop.url for hop in hops}:
                raise WebRefusedError("the redirects go in a circle", field="redirect", value=str(current))
        raise WebRefusedError(
            f"there are more than {self.policy.max_redirects} redirects", field="redirect", value=str(current)
        )

    async def _addresses(self, url: WebURL, limits: Limits) -> tuple[str, ...]:
        if url.literal:
            return (check_address(url.host),)
        try:
            found = await _within(limits, self.resolver, url.host)
        except (OSError, UnicodeError) as error:
            raise WebRefusedError("the host cannot be resolved", field="dns", value=url.host) from error
        if isinstance(found, str) or not isinstance(found, Sequence):
            raise ComponentError(f"resolver returned {found!r}: must be a list of addresses", field="resolver")
        return check_addresses(url.host, found)

    async def _request(self, url: WebURL, addresses: Sequence[str], limits: Limits) -> Reply:
        tls = self.tls if url.scheme == "https" else None
        reply: Reply = await _within(limits, self.wire.request, url, addresses, self.policy, limits, self.connect, tls)
        return reply


def _hop(url: WebURL, addresses: tuple[str, ...], reply: Reply) -> Hop:
    return Hop(str(url), addresses, reply.address, url.authority, reply.tls_name, reply.status)


async def _within(limits: Limits, call: Callable[..., Any], *args: Any) -> Any:
    """Make a blocking call that ends with the time of the whole opening."""
    try:
        return await Invoke(call, *args, timeout=limits.left() + _GRACE)
    except CallTimeoutError as error:
        raise limits.overdue() from error


def _needed(name: str, package: str | None = None) -> Any:
    """Import what the extra brings.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        return importlib.import_module(name, package)
    except ImportError as error:
        raise MissingDependencyError(f"the validator's web tools need httpx: {_REMEDY}") from error
