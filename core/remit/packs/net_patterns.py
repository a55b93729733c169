"""Network patterns of permissions: `host:port`, `*.host:port` (names below it) or `*:port` (any host)."""

from __future__ import annotations

import re

from remit.errors import PolicyError

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


def parse_net(text: str) -> str:
    """Return the pattern in lower case, addresses in their shortest form.

    Raises:
        PolicyError: it is no pattern; the message says what to write.
    """
    host, colon, port = text.strip().lower().rpartition(":")
    if not colon or not _PORT.fullmatch(port) or int(port) > 65535:
        raise _no_pattern(text, "write host:port, such as api.example.com:443")
    return f"{_host(host, text)}:{port}"


def _host(host: str, text: str) -> str:
    if host == "*":
        return host
    if host.startswith("["):
        return _address6(host, text)
    name = host.removeprefix("*.")
    labels = name.split(".")
    if not name.isascii():
        raise _no_pattern(text, "write an international name in its xn-- form")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _no_pattern(text, "the host is not a name, an address, *.name or *")
    if not _NUMBER.fullmatch(labels[-1]):
        return host
    if name != host:
        raise _no_pattern(text, "a wildcard cannot stand before an address")
    return _address4(name, text)


def _address4(host: str, text: str) -> str:
    parts = host.split(".")
    if len(parts) == 4 and all(p.isdigit() and str(int(p)) == p and int(p) < 256 for p in parts):
        return host
    raise _no_pattern(text, "an address is written 192.0.2.1")


def _address6(host: str, text: str) -> str:
    import ipaddress

    try:
        return f"[{ipaddress.IPv6Address(host[1:-1] if host.endswith(']') else '')}]"
    except ValueError:
        raise _no_pattern(text, "an IPv6 address is written [2001:db8::1]") from None


def _no_pattern(text: str, hint: str) -> PolicyError:
    return PolicyError(f"{text[:200]!r} is no network pattern: {hint}")


def net_within(narrow: str, wide: str) -> bool:
    """Whether every host and port that `narrow` matches is matched by `wide`.

    An address lies within itself and within `*`; `*.name` is about names.
    """
    if narrow == wide:
        return True
    host, _, port = narrow.rpartition(":")
    wide_host, _, wide_port = wide.rpartition(":")
    if port != wide_port:
        return False
    return wide_host == "*" or (wide_host.startswith("*.") and host.endswith(wide_host[1:]))
