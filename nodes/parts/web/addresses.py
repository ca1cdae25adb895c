"""Which URLs and which IP addresses may be opened.

A URL is read by one strict grammar instead of a lenient parser: where two parsers could disagree about the host, it is
refused. What passes comes back in one canonical form, and only that form is ever fetched or compared.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urljoin

from .policy import WebPolicy, WebRefusedError

__all__ = ("WebURL", "check_address", "check_addresses", "check_redirect", "check_url")

_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_ADDRESSES = 64

_IPv4 = ipaddress.IPv4Address
_IPv6 = ipaddress.IPv6Address
_IP = _IPv4 | _IPv6


@dataclass(frozen=True)
class WebURL:
    """A URL that passed, in its canonical form.

    Attributes:
        scheme: `http` or `https`.
        host: A lower-case DNS name, or an address in its usual spelling, IPv6 without brackets.
        port: The port, given or the scheme's own.
        target: Path and query as they are sent, ASCII.
    """

    scheme: str
    host: str
    port: int
    target: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def authority(self) -> str:
        """The Host header: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def literal(self) -> bool:
        """Whether the host is an address, for which no name is resolved."""
        return _literal(self.host) is not None


# --- addresses ---------------------------------------------------------------------------------------

# Written out, as what `ipaddress` calls global changed between Python releases; both have to agree.
_REFUSED_V4 = tuple(
    (ipaddress.IPv4Network(network), why)
    for network, why in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "a cloud's metadata service"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "reserved"),
        ("192.52.193.0/24", "reserved"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved"),
        ("198.18.0.0/15", "benchmark"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
    )
)

# Every form that carries an IPv4 address inside is refused whole: who needs it can name the IPv4 address itself.
_REFUSED_V6 = tuple(
    (ipaddress.IPv6Network(network), why)
    for network, why in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "IPv4-mapped"),
        ("::ffff:0:0:0/96", "IPv4-translated"),
        ("::/96", "IPv4-compatible"),
        ("64:ff9b::/96", "NAT64"),
        ("64:ff9b:1::/48", "NAT64"),
        ("100::/64", "discard-only"),
        ("2001::/32", "Teredo"),
        ("2001:2::/48", "benchmark"),
        ("2001:db8::/32", "documentation"),
        ("2001::/23", "reserved"),
        ("2002::/16", "6to4"),
        ("2620:4f:8000::/48", "reserved"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "unique local"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")
# ISATAP puts an IPv4 address behind these in the lower half of any prefix; the `u` bit may be set or not.
_ISATAP = {0x0000_5EFE, 0x0200_5EFE}


def check_address(address: str) -> str:
    """Make sure that an IP address is public.

    Args:
        address: As a resolver returns it; a zone is refused.

    Returns:
        The address in its usual spelling.

    Raises:
        WebRefusedError: It is no address or not a public one.
    """
    ip = _literal(address)
    if ip is None:
        raise WebRefusedError("the resolver gave no IP address", field="address", value=str(address))
    why = _not_public(ip)
    if why:
        raise WebRefusedError(f"the address {ip} is not public: {why}", field="address", value=str(ip))
    return str(ip)


def check_addresses(host: str, addresses: Sequence[str]) -> tuple[str, ...]:
    """Make sure that all addresses of a name are public: one that is not refuses the name.

    Args:
        host: The name.
        addresses: What the resolver returned, at most 64.

    Returns:
        The addresses without repeats, in order.

    Raises:
        WebRefusedError: There is none, there are too many, or one of them is not public.
    """
    if not addresses or len(addresses) > _MAX_ADDRESSES:
        raise WebRefusedError(f"the host resolves to {len(addresses)} addresses", field="dns", value=host)
    try:
        return tuple(dict.fromkeys(check_address(address) for address in addresses))
    except WebRefusedError as error:
        raise WebRefusedError(f"the host is refused: {error}", field="address", value=error.value) from error


def _literal(text: object) -> _IP | None:
    # A zone (`fe80::1%eth0`) names an interface of this machine.
    if not isinstance(text, str) or "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _not_public(ip: _IP) -> str:
    if isinstance(ip, _IPv4):
        found = next((why for network, why in _REFUSED_V4 if ip in network), "")
    else:
        found = next((why for network, why in _REFUSED_V6 if ip in network), "") or _odd_v6(ip)
    return found or ("" if ip.is_global else "reserved")


def _odd_v6(ip: _IPv6) -> str:
    if ip not in _UNICAST_V6:
        return "reserved"
    return "ISATAP" if int(ip) >> 32 & 0xFFFF_FFFF in _ISATAP else ""


# --- URLs --------------------------------------------------------------------------------------------

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?")
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?P<port>:.*)?", re.DOTALL)
_PORT = re.compile(r":([1-9][0-9]{0,4})")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# What the URL standard reads as the end of an IPv4 address, in any base and with any number of parts.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DOTTED = re.compile(r"(?:(?:0|[1-9][0-9]{0,2})\.){3}(?:0|[1-9][0-9]{0,2})")
_MAX_HOST = 253
# Names that mean something only inside a machine, a network or a cloud.
_PRIVATE_NAMES = ("localhost", "local", "localdomain", "internal", "intranet", "private", "corp", "home", "lan")
_PRIVATE_ZONES = (*_PRIVATE_NAMES, "home.arpa", "onion", "alt")
_TARGET_SAFE = "%/?:@!$&'()*+,;=-._~[]|"
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


def check_url(url: str, policy: WebPolicy) -> WebURL:
    """Read a URL and make sure that it may be opened, as far as its text tells.

    Args:
        url: The URL. A fragment is dropped. A name outside ASCII has to be in its `xn--` form.
        policy: Schemes, ports and length.

    Raises:
        WebRefusedError: A rule is broken; `field` names it.
    """
    match = _URL.match(_plain(url, policy))
    if match is None:
        raise _refused("url", url, "it is not of the form http(s)://host/path")
    scheme = match["scheme"].lower()
    if scheme not in policy.schemes:
        raise _refused("scheme", url, f"the scheme {scheme!r} is not allowed, only {', '.join(sorted(policy.schemes))}")
    host, port = _authority(url, match["authority"], _DEFAULT_PORTS[scheme])
    if port not in policy.ports:
        allowed = ", ".join(map(str, sorted(policy.ports)))
        raise _refused("port", url, f"port {port} is not allowed, only {allowed}")
    target = _path(match["path"]) + _escaped(match["query"] or "")
    found = WebURL(scheme, host, port, target)
    if len(str(found)) > policy.max_url_chars:
        raise _refused("url", url, "it is too long once it is encoded")
    return found


def check_redirect(source: WebURL, location: str, policy: WebPolicy) -> WebURL:
    """Read where a redirect leads, by the same rules.

    Args:
        source: The URL that redirects.
        location: The Location header; it may be relative.
        policy: As in `check_url`.

    Raises:
        WebRefusedError: The target may not be opened, or the redirect leaves https.
    """
    try:
        _plain(location, policy)  # before `urljoin`, which drops tabs and line ends in silence
        url = check_url(urljoin(str(source), location), policy)
    except WebRefusedError as error:
        # Its text may quote the target, which the server wrote.
        why = f"the redirect's target breaks the rule {error.field!r}"
        raise WebRefusedError(why, field=error.field, value=location) from error
    except ValueError as error:
        raise WebRefusedError("the redirect's target cannot be read", field="redirect", value=location) from error
    if source.scheme == "https" and url.scheme != "https":
        raise WebRefusedError("the redirect leaves https for http", field="redirect", value=location)
    return url


def _plain(url: object, policy: WebPolicy) -> str:
    """Make sure that a URL has no character that parsers read differently."""
    if not isinstance(url, str) or not url:
        raise _refused("url", url, "it is no text or empty")
    if len(url) > policy.max_url_chars:
        raise _refused("url", url[:80], f"it has {len(url)} characters, {policy.max_url_chars} are allowed")
    for char in url:
        if char == "\\" or unicodedata.category(char)[0] in "CZ":
            raise _refused("url", url, f"it holds the character U+{ord(char):04X}")
    return url


def _authority(url: str, authority: str, default_port: int) -> tuple[str, int]:
    if "@" in authority:
        raise _refused("userinfo", url, "it holds a user name or password")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise _refused("host", url, "its host cannot be read")
    if match["port"] is None:
        port = default_port
    elif (digits := _PORT.fullmatch(match["port"])) and int(digits[1]) <= 65_535:
        port = int(digits[1])
    else:
        raise _refused("port", url, f"its port {match['port'][1:]!r} is not a plain number")
    return _host(url, match["host"]), port


def _host(url: str, written: str) -> str:
    host = written.lower()
    if not host.isascii():
        raise _refused("host", url, "its host is not ASCII; an international name has to be in its xn-- form")
    if host.startswith("["):
        return _checked_v6(url, host[1:-1])
    if not host or len(host) > _MAX_HOST:
        raise _refused("host", url, "its host is empty or too long")
    if host.endswith("."):
        raise _refused("host", url, "its host ends in a dot")
    labels = host.split(".")
    if not all(map(_LABEL.fullmatch, labels)):
        raise _refused("host", url, f"{host!r} is not a host name")
    if _NUMBER.fullmatch(labels[-1]):
        return _checked_v4(url, host)
    if len(labels) == 1 or any(host == zone or host.endswith(f".{zone}") for zone in _PRIVATE_ZONES):
        raise _refused("host", url, f"{host!r} is not a public name")
    return host


def _checked_v4(url: str, host: str) -> str:
    if not _DOTTED.fullmatch(host):
        raise _refused("host", url, f"{host!r} is an odd spelling of an IPv4 address")
    return check_address(host)


def _checked_v6(url: str, host: str) -> str:
    if "%" in host:
        raise _refused("host", url, "its address has a zone")
    if not isinstance(_literal(host), _IPv6):
        raise _refused("host", url, f"[{host}] is not an IPv6 address")
    return check_address(host)


def _path(path: str) -> str:
    """Escape a path and take out its dot segments, as RFC 3986 (5.2.4) does."""
    kept: list[str] = []
    segments = _escaped(path).split("/")[1:]
    for index, segment in enumerate(segments):
        dots = segment in (".", "..")
        if segment == ".." and kept:
            kept.pop()
        if not dots:
            kept.append(segment)
        elif index == len(segments) - 1:
            kept.append("")
    return "/" + "/".join(kept)


def _escaped(text: str) -> str:
    """Bring the escapes of a path or query into one form, so that two spellings of one URL are equal."""
    escaped = quote(_BARE_PERCENT.sub("%25", text), safe=_TARGET_SAFE)
    return _ESCAPE.sub(_one_escape, escaped)


def _one_escape(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if _UNRESERVED.fullmatch(char) else match[0].upper()


def _refused(field: str, url: object, why: str) -> WebRefusedError:
    text = url if isinstance(url, str) else repr(url)
    return WebRefusedError(f"the URL is refused: {why}", field=field, value=text)
