"""Which URLs and addresses are allowed: each rule, each odd spelling, and no text that gets around them."""

# ruff: noqa: RUF001 - characters that look like others are what is tested

import ipaddress
import pickle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langgraph_recursive.nodes.parts.web import WebPolicy, WebRefusedError, check_address, check_url
from langgraph_recursive.nodes.parts.web.addresses import WebURL, check_addresses, check_redirect
from langgraph_recursive.state.errors import InvalidPolicyError

POLICY = WebPolicy()
PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:80e::200e"]
REFUSED = {
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
    "carrier-grade NAT": ["100.64.0.1", "100.100.100.200", "100.127.255.255"],
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "link-local": ["169.254.0.1", "169.254.169.254", "fe80::1", "febf::1"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "broadcast": ["255.255.255.255"],
    "reserved": ["240.0.0.1", "192.0.0.1", "192.0.0.192", "2001:20::1", "4000::1", "5f00::1", "::2:0:0:0:1"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "benchmark": ["198.18.0.1", "198.19.255.255", "2001:2::1"],
    "6to4 relay": ["192.88.99.1"],
    "a cloud's metadata service": ["168.63.129.16"],
    "unique local": ["fc00::1", "fd00:ec2::254"],
    "site-local": ["fec0::1"],
    "IPv4-mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:7f00:1", "::ffff:8.8.8.8"],
    "IPv4-translated": ["::ffff:0:127.0.0.1"],
    "IPv4-compatible": ["::127.0.0.1", "::7f00:1", "::8.8.8.8"],
    "6to4": ["2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1"],
    "Teredo": ["2001:0:4136:e378:8000:63bf:80ff:fffe", "2001::1"],
    "NAT64": ["64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "64:ff9b::8.8.8.8"],
    "ISATAP": ["2606:4700::5efe:7f00:1", "2606:4700::200:5efe:10.0.0.1"],
    "discard-only": ["100::1"],
}
REFUSED_PAIRS = [(why, address) for why, addresses in REFUSED.items() for address in addresses]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_address_is_allowed(address: str) -> None:
    assert check_address(address) == address


@pytest.mark.parametrize(("why", "address"), REFUSED_PAIRS)
def test_address_is_refused_with_its_reason(why: str, address: str) -> None:
    with pytest.raises(WebRefusedError, match=f"is not public: {why}$") as caught:
        check_address(address)
    assert caught.value.field == "address"


@pytest.mark.parametrize("address", ["fe80::1%eth0", "8.8.8.8%1", "", "127.1", "0177.0.0.1", "localhost", "8.8.8.8 "])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(WebRefusedError, match="no IP address"):
        check_address(address)


@pytest.mark.parametrize(
    "addresses",
    [[], ["8.8.8.8", "127.0.0.1"], ["::1", "2606:4700:4700::1111"], ["8.8.8.8", "fe80::1%eth0"], ["8.8.8.8"] * 65],
)
def test_a_name_with_any_refused_address_is_refused(addresses: list[str]) -> None:
    with pytest.raises(WebRefusedError) as caught:
        check_addresses("one.example.com", addresses)
    assert caught.value.field in {"address", "dns"}


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTP://EXAMPLE.com:80/#top", "http://example.com/"),
        ("https://example.com:443/a?b=c#d", "https://example.com/a?b=c"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("https://example.com?q", "https://example.com/?q"),
        ("http://example.com/a/./b/../c/..", "http://example.com/a/"),
        ("http://example.com/../../etc", "http://example.com/etc"),
        ("http://example.com/%2e%2E/x", "http://example.com/x"),
        ("http://example.com/%7euser/%c3%A9", "http://example.com/~user/%C3%A9"),
        ("http://example.com/é/中", "http://example.com/%C3%A9/%E4%B8%AD"),
        ("http://example.com/100%", "http://example.com/100%25"),
        ('http://example.com/<a>"', "http://example.com/%3Ca%3E%22"),
        ("http://example.com//a", "http://example.com//a"),
        ("http://xn--fiqs8s.example.com/", "http://xn--fiqs8s.example.com/"),
        ("http://_dmarc.example.com/", "http://_dmarc.example.com/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://[2606:4700:4700:0::1111]/", "http://[2606:4700:4700::1111]/"),
        ("http://example.com/a@b:c", "http://example.com/a@b:c"),
    ],
)
def test_allowed_url_has_one_form(url: str, canonical: str) -> None:
    assert str(check_url(url, POLICY)) == canonical
    assert str(check_url(canonical, POLICY)) == canonical


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("http://example.com:80/", "example.com"),
        ("https://example.com:80/", "example.com:80"),
        ("http://example.com:443/", "example.com:443"),
        ("https://[2606:4700:4700::1111]:80/", "[2606:4700:4700::1111]:80"),
    ],
)
def test_host_header_of_a_url(url: str, authority: str) -> None:
    assert check_url(url, POLICY).authority == authority


REFUSED_URLS = [
    # schemes
    ("scheme", "ftp://example.com/"),
    ("scheme", "file:///etc/passwd"),
    ("scheme", "gopher://example.com/"),
    ("scheme", "ws://example.com/"),
    ("url", "javascript:alert(1)"),
    ("url", "data:text/html,x"),
    ("url", "http:/example.com"),
    ("url", "http:example.com"),
    ("url", "//example.com/"),
    ("url", "example.com"),
    ("url", ""),
    # users
    ("userinfo", "http://user@example.com/"),
    ("userinfo", "http://user:pass@example.com/"),
    ("userinfo", "http://example.com@127.0.0.1/"),
    ("userinfo", "http://@example.com/"),
    ("userinfo", "http://a@b@example.com/"),
    # spellings of 127.0.0.1
    ("host", "http://2130706433/"),
    ("host", "http://0x7f000001/"),
    ("host", "http://0x7f.0.0.1/"),
    ("host", "http://0x7f.1/"),
    ("host", "http://017700000001/"),
    ("host", "http://0177.0.0.1/"),
    ("host", "http://0177.0.0.01/"),
    ("host", "http://127.0.0.01/"),
    ("host", "http://127.000.000.001/"),
    ("host", "http://127.1/"),
    ("host", "http://127.0.1/"),
    ("host", "http://127/"),
    ("host", "http://0/"),
    ("host", "http://0x/"),
    ("host", "http://0x0/"),
    ("host", "http://127.0.0.0x1/"),
    ("host", "http://127.0.0.1.5/"),
    ("host", "http://127.0.0.1./"),
    ("host", "http://a.1/"),
    ("host", "http://4294967297/"),
    ("host", "http://[::ffff:0x7f.0.0.1]/"),
    ("address", "http://127.0.0.1/"),
    ("address", "http://256.0.0.1/"),
    ("address", "http://10.0.0.1:80/"),
    ("address", "http://169.254.169.254/latest/meta-data/"),
    ("address", "http://[::1]/"),
    ("address", "http://[::]/"),
    ("address", "http://[::ffff:127.0.0.1]/"),
    ("address", "http://[::ffff:7f00:1]/"),
    ("address", "http://[0:0:0:0:0:ffff:127.0.0.1]/"),
    ("address", "http://[64:ff9b::7f00:1]/"),
    ("address", "http://[2002:7f00:1::]/"),
    ("address", "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/"),
    ("address", "http://[fd00::1]/"),
    # escapes and other alphabets
    ("host", "http://%31%32%37.0.0.1/"),
    ("host", "http://127%2e0.0.1/"),
    ("host", "http://example%2ecom/"),
    ("host", "http://１２７.0.0.1/"),
    ("host", "http://127。0。0。1/"),
    ("host", "http://127．0．0．1/"),
    ("host", "http://127｡0｡0｡1/"),
    ("host", "http://①②⑦.0.0.1/"),
    ("host", "http://ⓛocalhost/"),
    ("host", "http://ｌｏｃａｌｈｏｓｔ/"),
    ("host", "http://loca\u212bhost.com/"),
    ("host", "http://exam\u0440le.com/"),
    ("host", "http://bücher.example.com/"),
    ("url", "http://exam\u00adple.com/"),
    ("url", "http://exam\u200bple.com/"),
    ("host", "http://\u2100.example.com/"),
    ("host", "http://example.com\uff0fpath/"),
    ("host", "http://example.com\uff03.evil.com/"),
    # zones and brackets
    ("host", "http://[fe80::1%25eth0]/"),
    ("host", "http://[fe80::1%eth0]/"),
    ("host", "http://[2606:4700:4700::1111%1]/"),
    ("host", "http://[127.0.0.1]/"),
    ("host", "http://[v1.x]/"),
    ("host", "http://[::1/"),
    ("port", "http://::1/"),
    ("host", "http://[]/"),
    ("host", "http://[example.com]/"),
    ("host", "http://a[::1]/"),
    ("host", "http://[2606:4700:4700::1111]x/"),
    # names
    ("host", "http://localhost/"),
    ("host", "http://LOCALHOST/"),
    ("host", "http://localhost./"),
    ("host", "http://app.localhost/"),
    ("host", "http://printer.local/"),
    ("host", "http://metadata.google.internal/"),
    ("host", "http://router.home.arpa/"),
    ("host", "http://intranet/"),
    ("host", "http://example.com./"),
    ("host", "http://example..com/"),
    ("host", "http://.example.com/"),
    ("host", "http://-a.example.com/"),
    ("host", "http://a-.example.com/"),
    ("host", "http://exa$mple.com/"),
    ("host", "http://exa'mple.com/"),
    ("host", "http:///path"),
    ("host", "http://:80/"),
    ("host", f"http://{'a' * 64}.com/"),
    ("host", f"http://{'a.' * 127}com/"),
    # ports
    ("port", "http://example.com:8080/"),
    ("port", "http://example.com:22/"),
    ("port", "http://example.com:0/"),
    ("port", "http://example.com:/"),
    ("port", "http://example.com:080/"),
    ("port", "http://example.com:+80/"),
    ("port", "http://example.com:-80/"),
    ("port", "http://example.com:65616/"),
    ("port", "http://example.com:８０/"),
    ("port", "http://example.com:80:80/"),
    ("port", "http://example.com:0x50/"),
    # characters that parsers read differently
    ("url", "http://example.com\\@127.0.0.1/"),
    ("url", "http:\\\\example.com/"),
    ("url", "http://example.com/a\\b"),
    ("url", " http://example.com/"),
    ("url", "http://example.com/ "),
    ("url", "http://exa\tmple.com/"),
    ("url", "http://example.com/\r\nHost: evil"),
    ("url", "http://example.com/\x00"),
    ("url", "http://example.com/\x7f"),
    ("url", "http://example.com/a b"),
    ("url", "http://example.com/\u3000"),
    ("url", "http://example.com/\u2028"),
    ("url", "http://example.com/\u202e"),
    ("url", "http://example.com/\ud800"),
    ("url", "java\nscript:x"),
    # length
    ("url", "http://example.com/" + "a" * 2_048),
    ("url", "http://example.com/" + "中" * 700),
]


@pytest.mark.parametrize(("rule", "url"), REFUSED_URLS, ids=lambda text: ascii(text)[:60])
def test_url_is_refused_by_its_rule(rule: str, url: str) -> None:
    with pytest.raises(WebRefusedError) as caught:
        check_url(url, POLICY)
    assert caught.value.field == rule


@pytest.mark.parametrize("url", [None, 7, b"http://example.com/"])
def test_what_is_no_text_is_refused(url: object) -> None:
    with pytest.raises(WebRefusedError):
        check_url(url, POLICY)  # type: ignore[arg-type]  # a model can hand in anything


@pytest.mark.parametrize(
    ("source", "location", "result"),
    [
        ("http://example.com/a/b", "c", "http://example.com/a/c"),
        ("http://example.com/a", "/x?y#z", "http://example.com/x?y"),
        ("http://example.com/a", "//two.example.com/", "http://two.example.com/"),
        ("http://example.com/a", "https://example.com/", "https://example.com/"),
    ],
)
def test_redirect_may_be_followed(source: str, location: str, result: str) -> None:
    assert str(check_redirect(check_url(source, POLICY), location, POLICY)) == result


@pytest.mark.parametrize(
    ("rule", "location"),
    [
        ("redirect", "http://example.com/"),
        ("address", "https://127.0.0.1/"),
        ("address", "//[::1]/"),
        ("host", "//localhost/"),
        ("host", "//2130706433/"),
        ("port", "//example.com:8443/"),
        ("userinfo", "//user@example.com/"),
        ("scheme", "ftp://example.com/"),
        ("url", "file:/etc/passwd"),
        ("url", ""),
        ("url", "/a\tb"),
        ("url", "\\\\127.0.0.1\\"),
        ("redirect", "//[::1"),
    ],
)
def test_redirect_is_refused(rule: str, location: str) -> None:
    with pytest.raises(WebRefusedError) as caught:
        check_redirect(check_url("https://example.com/", POLICY), location, POLICY)
    assert caught.value.field == rule


def test_policy_sets_schemes_ports_and_length() -> None:
    policy = WebPolicy(schemes={"https"}, ports={8443}, max_url_chars=40)
    assert str(check_url("https://example.com:8443/", policy)) == "https://example.com:8443/"
    for url in ("http://example.com:8443/", "https://example.com/", "https://example.com:8443/" + "a" * 40):
        with pytest.raises(WebRefusedError):
            check_url(url, policy)


@pytest.mark.parametrize(
    "fields",
    [
        {"ports": set()},
        {"ports": {0}},
        {"ports": {65_536}},
        {"schemes": {"ftp"}},
        {"schemes": set()},
        {"timeout": 0},
        {"max_bytes": 0},
        {"max_redirects": -1},
        {"content_types": {"text/html; charset=utf-8"}},
        {"user_agent": "a\r\nCookie: b"},
        {"user_agent": ""},
        {"allow_private": True},
    ],
)
def test_policy_out_of_bounds_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidPolicyError) as caught:
        WebPolicy(**fields)
    assert caught.value.field == next(iter(fields))


def test_refusal_pickles() -> None:
    error = WebRefusedError("no", field="port", value="http://example.com:1/")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.field, again.value) == (WebRefusedError, "no", "port", error.value)


# --- properties --------------------------------------------------------------------------------------

V4 = st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address)
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))


@settings(deadline=None)
@given(ADDRESSES)
def test_no_allowed_address_is_one_that_python_calls_special(address: ipaddress.IPv4Address) -> None:
    try:
        allowed = ipaddress.ip_address(check_address(str(address)))
    except WebRefusedError:
        return
    assert allowed == address
    assert allowed.is_global
    special = ("is_private", "is_loopback", "is_link_local", "is_multicast", "is_reserved", "is_unspecified")
    assert not any(getattr(allowed, name) for name in special)


@settings(deadline=None)
@given(V4)
def test_no_form_that_carries_an_ipv4_address_is_allowed(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    forms = [
        number,
        0xFFFF << 32 | number,
        0xFFFF << 48 | number,
        0x64FF9B << 96 | number,
        0x2002 << 112 | number << 80,
        0x20010000 << 96 | number ^ 0xFFFF_FFFF,
        0x26064700 << 96 | 0x5EFE << 32 | number,
    ]
    for form in forms:
        with pytest.raises(WebRefusedError):
            check_address(str(ipaddress.IPv6Address(form)))


def spelled(address: ipaddress.IPv4Address) -> st.SearchStrategy[str]:
    """Spell an IPv4 address in every way that `inet_aton` and browsers read."""
    parts = address.packed

    def bases(value: int) -> st.SearchStrategy[str]:
        zeros = st.sampled_from(["", "0", "000"])
        return st.one_of(
            st.just(str(value)),
            zeros.map(lambda pad: f"0{pad}{value:o}"),
            zeros.map(lambda pad: f"0x{pad}{value:x}"),
            zeros.map(lambda pad: f"0X{pad}{value:X}"),
        )

    def joined(count: int) -> st.SearchStrategy[str]:
        last = int.from_bytes(parts[count - 1 :])
        return st.tuples(*map(bases, parts[: count - 1]), bases(last)).map(".".join)

    return st.one_of(*map(joined, (1, 2, 3, 4)))


@settings(deadline=None)
@given(V4.flatmap(lambda address: st.tuples(st.just(address), spelled(address))))
def test_no_spelling_of_an_address_but_the_usual_one_is_allowed(
    case: tuple[ipaddress.IPv4Address, str],
) -> None:
    address, spelling = case
    try:
        url = check_url(f"http://{spelling}/", POLICY)
    except WebRefusedError:
        return
    assert url.host == spelling == str(address)
    assert check_address(url.host) == url.host


PIECES = st.sampled_from(
    [
        *("http://", "https://", "//", "/", "\\", "@", ":", ":80", ":443", "[", "]", ".", "..", "%2e", "%", "?", "#"),
        *("127.0.0.1", "127.1", "0x7f", "8.8.8.8", "[::1]", "::ffff:127.0.0.1", "[2606:4700:4700::1111]", "localhost"),
        *("example.com", "user:pass@", "xn--", "-", "_", "a", "0", "é", "。", "１", "\t", "\n", " ", "\ud800"),
    ]
)
URLS = st.one_of(
    st.text(max_size=80),
    st.lists(PIECES, max_size=8).map("".join),
    st.builds("http{}://{}/{}".format, st.sampled_from(["", "s"]), st.text(max_size=30), st.text(max_size=30)),
    st.builds("http://{}/".format, st.lists(PIECES, max_size=5).map("".join)),
)


def safe(url: WebURL) -> bool:
    ip = url.literal and check_address(url.host) == url.host
    name = not url.literal and url.host.isascii() and "." in url.host and not url.host.split(".")[-1].isdigit()
    return bool(ip or name) and url.port in POLICY.ports and url.target.isascii() and url.target.startswith("/")


@settings(deadline=None)
@given(URLS)
@example("http://example.com/%%30%30")
@example("http://[::ffff:8.8.8.8]:80/")
def test_no_text_raises_anything_but_a_refusal_and_what_passes_is_safe(text: str) -> None:
    try:
        url = check_url(text, POLICY)
    except WebRefusedError:
        return
    assert safe(url)
    assert check_url(str(url), POLICY) == url


@settings(deadline=None)
@given(st.sampled_from(["http://example.com/a/b", "https://8.8.8.8/"]), URLS)
def test_no_redirect_raises_anything_but_a_refusal_and_what_passes_is_safe(source: str, location: str) -> None:
    start = check_url(source, POLICY)
    try:
        url = check_redirect(start, location, POLICY)
    except WebRefusedError:
        return
    assert safe(url)
    assert url.scheme == "https" or start.scheme == "http"
