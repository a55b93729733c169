"""One spelling for a host, whatever a cell or a deployer wrote.

A name that two programs read differently is how a filter is passed: `0x7f.1`, `127.0.0.1.`,
`LOCALHOST`, fullwidth digits or `a@b` must mean the same to the grant, the resolver and the log.
"""

from __future__ import annotations

import ipaddress
import re

MAX_HOST = 255
"""Longest host in characters (RFC 1035: 253, and the dots at the end)."""

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\Z")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)\Z")
_ADDRESS_TEXT = re.compile(r"[0-9a-fA-F:.]+\Z")


class BadHost(ValueError):
    """A host that is no DNS name and no IP address."""


def normalise_host(text: str) -> str:
    """The one spelling of a host: a lower-case ASCII name, or an address as `ipaddress` writes it.

    Takes names in Unicode (IDNA 2008 with UTS 46 mapping), a dot at the end, IPv4 in decimal,
    octal and hex and with fewer than four parts (as `inet_aton` reads them), IPv6 with or without
    brackets; an IPv4-mapped IPv6 address becomes the IPv4 address.

    Raises:
        BadHost: for anything else, with the reason: user info, a port, a path, white space, control
            characters, zones, labels too long.
    """
    if not text or len(text) > MAX_HOST:
        raise BadHost(f"a host has 1 to {MAX_HOST} characters")
    if text.startswith("[") or ":" in text:
        return _normalise_ipv6(text)
    name = text.lower() if text.isascii() else _to_ascii(text)
    name = name.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.match(labels[-1]):
        return _normalise_ipv4(labels)
    if len(name) > 253 or not all(_LABEL.match(label) for label in labels):
        raise BadHost(f"{text!a} is no valid host name")
    return name


def is_address(host: str) -> bool:
    """Whether a normalised host is an IP address, not a name."""
    return ":" in host or host.rpartition(".")[2].isdigit()


def _to_ascii(text: str) -> str:
    import idna

    try:
        return idna.encode(text, uts46=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError) as error:
        raise BadHost(f"{text!a} is no valid international name") from error


def _normalise_ipv6(text: str) -> str:
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        if not _ADDRESS_TEXT.match(inner):
            raise ValueError(inner)
        address = ipaddress.IPv6Address(inner)
    except ValueError as error:
        raise BadHost(f"{text!a} is no valid host name or IPv6 address") from error
    return str(address.ipv4_mapped or address)


def _normalise_ipv4(labels: list[str]) -> str:
    """Reads one to four numbers as `inet_aton` does: the last one fills the rest."""
    if len(labels) > 4 or not all(_NUMBER.match(label) for label in labels):
        raise BadHost(f"{'.'.join(labels)!a} is no valid IPv4 address")
    *leading, last = (_read_number(label) for label in labels)
    room = 4 - len(leading)
    if any(part > 255 for part in leading) or last >= 256**room:
        raise BadHost(f"{'.'.join(labels)!a} is no valid IPv4 address")
    value = last + sum(part << (8 * (3 - index)) for index, part in enumerate(leading))
    return str(ipaddress.IPv4Address(value))


def _read_number(label: str) -> int:
    lower = label.lower()
    try:
        if lower.startswith("0x"):
            return int(lower[2:] or "0", 16)
        return int(lower, 8 if len(lower) > 1 and lower.startswith("0") else 10)
    except ValueError as error:
        raise BadHost(f"{label!a} is no valid part of an IPv4 address") from error
