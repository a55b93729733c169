"""What a host is called, which grant covers it, which addresses it may have, and hostile frames."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_sandbox.broker.addresses import kind_of
from remit_sandbox.broker.dial import Refused, Target, judge
from remit_sandbox.broker.hosts import BadHost, is_address, normalise_host
from remit_sandbox.broker.matching import NetRights, read_grant, written
from remit_sandbox.broker.wire import FrameBuffer, read_request
from remit_sandbox.errors import ProtocolError

SAME_HOST = {
    "EXAMPLE.org": "example.org",
    "example.org.": "example.org",
    "b\u00fccher.example": "xn--bcher-kva.example",
    "B\u00dcCHER.example.": "xn--bcher-kva.example",
    "\u5317\u4eac\u3002example": "xn--1lq90i.example",
    "2130706433": "127.0.0.1",
    "0x7f000001": "127.0.0.1",
    "0x7f.1": "127.0.0.1",
    "0177.0.0.1": "127.0.0.1",
    "127.1": "127.0.0.1",
    "127.0.0.1.": "127.0.0.1",
    "\uff11\uff12\uff17.0.0.1": "127.0.0.1",
    "[::1]": "::1",
    "0:0:0:0:0:0:0:1": "::1",
    "::ffff:127.0.0.1": "127.0.0.1",
    "[::FFFF:7f00:1]": "127.0.0.1",
    "_dmarc.example": "_dmarc.example",
}


@pytest.mark.parametrize(("text", "host"), SAME_HOST.items())
def test_every_spelling_of_a_host_becomes_one(text: str, host: str) -> None:
    assert normalise_host(text) == host
    assert normalise_host(host) == host


@pytest.mark.parametrize(
    "text",
    [
        "", ".", "a..b", "user@example.org", "example.org:443", "example.org/path", "a b", "a\r\nb", "a\0b", "a\tb",
        "-a.example", "a-.example", "%31.example", "fe80::1%eth0", "[::1", "::1]", "[127.0.0.1]", "1.2.3.4.5",
        "256.1.1.1", "1.2.3.256", "4294967296", "08.0.0.1", "a.0x", "x.1", "*.example", "a" * 64 + ".example",
        ".".join(["a" * 60] * 5), "http://example.org", "a\\b", "a#b", "a?b", "\ud800", "\u2024.example",
    ],
)  # fmt: skip
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(BadHost):
        normalise_host(text)


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_normalising_ends_and_is_stable(text: str) -> None:
    try:
        host = normalise_host(text)
    except BadHost:
        return
    assert host.isascii() and host == host.lower() and not set(host) & set("@/\\?#%[]* \r\n\0")
    assert normalise_host(host) == host


KINDS = {
    "8.8.8.8": "public", "2606:4700::1111": "public", "192.88.99.1": "private", "127.0.0.1": "private",
    "10.1.2.3": "private", "172.16.0.1": "private", "192.168.1.1": "private", "100.64.0.1": "private",
    "198.18.0.1": "private", "192.0.2.1": "private", "240.0.0.1": "private", "::1": "private", "fd12::1": "private",
    "fec0::1": "private", "2001:db8::1": "private", "::ffff:10.0.0.1": "private", "::127.0.0.1": "private",
    "2002:7f00:1::": "private", "64:ff9b::7f00:1": "private", "64:ff9b::808:808": "public",
    "2002:808:808::": "public", "2001:0:1::1": "private", "169.254.1.1": "sensitive", "169.254.169.254": "sensitive",
    "100.100.100.200": "sensitive", "fd00:ec2::254": "sensitive", "fe80::1": "sensitive", "fe80::1%2": "sensitive",
    "64:ff9b::a9fe:a9fe": "sensitive", "::ffff:169.254.169.254": "sensitive", "0.0.0.0": "never", "::": "never",
    "224.0.0.1": "never", "ff02::1": "never", "255.255.255.255": "never", "::ffff:0.0.0.0": "never",
}  # fmt: skip


@pytest.mark.parametrize(("address", "kind"), KINDS.items())
def test_kinds_of_addresses(address: str, kind: str) -> None:
    assert kind_of(address) == kind


COVERED = [
    ("example.org:443", "example.org", 443, True),
    ("Example.ORG.:443", "example.org", 443, True),
    ("example.org:443", "example.org", 80, False),
    ("example.org:443", "a.example.org", 443, False),
    ("*.example.org:443", "a.example.org", 443, True),
    ("*.example.org:443", "b.a.example.org", 443, True),
    ("*.example.org:443", "example.org", 443, False),
    ("*.example.org:443", "notexample.org", 443, False),
    ("*:443", "anything.example", 443, True),
    ("*:443", "anything.example", 444, False),
    ("127.1:80", "127.0.0.1", 80, True),
    ("[::1]:80", "::1", 80, True),
    ("b\u00fccher.example:443", "xn--bcher-kva.example", 443, True),
]


@pytest.mark.parametrize(("grant", "host", "port", "covered"), COVERED)
def test_what_a_grant_covers(grant: str, host: str, port: int, covered: bool) -> None:
    assert read_grant(grant).covers(host, port) is covered


@pytest.mark.parametrize(
    "grant",
    ["", "example.org", "example.org:", "example.org:0", "example.org:65536", "example.org:443x", ":443", "*.:443",
     "*.*:443", "a*.example:443", "*.127.0.0.1:80", "http://example.org:443", "example.org:*", "a@b:443"],
)  # fmt: skip
def test_grants_that_cannot_be_read(grant: str) -> None:
    with pytest.raises(ValueError, match="network grant"):
        read_grant(grant)


def reach(host: str, allow: list[str], private: list[str]) -> set[str]:
    verdict = judge("p", host, 80, NetRights.read(allow, private))
    return set(verdict.reach) if isinstance(verdict, Target) else set()


def test_how_far_a_grant_reaches() -> None:
    assert reach("a.example", ["a.example:80"], []) == {"public"}
    assert reach("a.example", ["a.example:80"], ["a.example:80"]) == {"public", "private"}
    assert reach("127.0.0.1", ["127.0.0.1:80"], []) == {"public"}
    assert reach("169.254.169.254", ["*:80"], ["*:80"]) == {"public", "private"}
    assert reach("169.254.169.254", ["*:80"], ["*:80", "169.254.169.254:80"]) == {"public", "private", "sensitive"}
    assert reach("a.example", [], ["a.example:80"]) == set()


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_frames_of_rubbish_raise_nothing_but_a_protocol_error(chunks: list[bytes]) -> None:
    buffer = FrameBuffer()
    for chunk in chunks:
        buffer.feed(chunk)
        try:
            for frame in buffer.frames():
                read_request(frame)
        except ProtocolError:
            return


@given(st.text(max_size=40), st.integers(-10, 70000))
@settings(deadline=None)
def test_judging_never_raises_and_refuses_without_a_grant(host: str, port: int) -> None:
    verdict = judge("p", host, port, NetRights.read(["granted.example:443"], []))
    if isinstance(verdict, Refused):
        assert verdict.reason.isascii() and verdict.reason.isprintable()
    else:
        assert (verdict.host, verdict.port) == ("granted.example", 443)


def test_written_reads_back() -> None:
    for host in ("a.example", "127.0.0.1", "::1"):
        assert read_grant(written(host, 5)).covers(host, 5)
        assert is_address(host) is (host != "a.example")
