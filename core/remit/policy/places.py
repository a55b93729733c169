"""Addresses, hosts and paths in arguments, read strictly: what can be read in two ways is not read."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from remit.policy.walk import walk

HostPattern = tuple[str, int | None]
"""A name, which may start with `*.` or be `*`, and a port or None for any."""

_LONGEST_NAME = 253
_ADDRESS_TROUBLE = frozenset(' \t\r\n,;:<>()[]"\\')
_TWO_READINGS = frozenset("\u00df\u03c2\u200c\u200d")
_HOST_TROUBLE = frozenset(" \t\r\n%\\@,;<>()\"'")


def address_domain(text: str) -> str | None:
    """Return the domain of a plain e-mail address, lower case, or None when it is not plainly one.

    A display name, a list, a comment or a second `@` makes it unclear where mail would go.
    """
    local, at, domain = text.partition("@")
    if not at or not local or "@" in domain or _ADDRESS_TROUBLE & set(text) or not text.isprintable():
        return None
    return host_name(domain)


def host_name(text: str) -> str | None:
    """Return a host name or address in its one form (lower case, ASCII, no final dot), or None.

    IPv4 inside IPv6 is unwrapped; a numeric host that is no dotted quad (`2130706433`, `0x7f.1`,
    `010.0.0.1`) is None.
    """
    name = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    name = name.removesuffix(".")
    return _one_form(name) if 0 < len(name) <= _LONGEST_NAME else None


def url_host(text: str) -> tuple[str, int | None] | None:
    """Return host and port of a URL, or of `host` or `host:port`, or None when that is not clear.

    User names in a URL, backslashes, white space and percent signs in the host make it unclear.
    """
    stripped = text if "//" in text else "//" + text
    if any(letter.isspace() or not letter.isprintable() or letter == "\\" for letter in stripped):
        return None
    try:
        parts = urlsplit(stripped)
        port = parts.port
    except ValueError:
        return None
    if "@" in parts.netloc or not parts.hostname:
        return None
    host = host_name(parts.hostname)
    usual = {"https": 443, "http": 80, "wss": 443, "ws": 80}.get(parts.scheme)
    return None if host is None else (host, usual if port is None else port)


def host_matches(host: str, port: int | None, pattern: HostPattern) -> bool:
    """Tell whether a host fits a pattern as `split_pattern` returned it."""
    name, wanted = pattern
    if wanted is not None and wanted != port:
        return False
    if name == "*":
        return True
    if name.startswith("*."):
        return host.endswith(name[1:]) and not _is_numeric(host)
    return host == name


def split_pattern(pattern: str) -> HostPattern:
    """Return `host`, `host:port`, `*.host` or `*.host:port` as (name in its one form, port or None).

    Raises:
        ValueError: it is no host pattern; the message says why.
    """
    body, wanted = pattern, None
    head, colon, tail = pattern.rpartition(":")
    if colon and tail.isdecimal() and (":" not in head or head.endswith("]")):
        body, wanted = head, int(tail)
    star = "*." if body.startswith("*.") else ""
    name = "*" if body == "*" else host_name(body.removeprefix("*."))
    if name is None:
        raise ValueError(f"{pattern!r} is no host; write host, host:port or *.host")
    return star + name, wanted


def real_path(text: str, *, base: str | None) -> str | None:
    """Return the absolute path with every link resolved, or None when that is not clear; see `remit.policy.walk`.

    Args:
        text: the argument.
        base: folder that a relative path starts from; None when it is not known.
    """
    if not text or "\0" in text or text.startswith(("~", "file:")) or "://" in text:
        return None
    if text.startswith("/"):
        return walk(text)
    start = None if base is None else walk(base)
    return None if start is None else walk(text, start=start)


def expand(pattern: str, *, folder: str | None, anchors: Mapping[str, str]) -> str:
    """Return a folder pattern of a rule as an absolute real path.

    Args:
        pattern: with `${workspace}`-like anchors, absolute, or relative to `folder`; a final `/**` is
            understood.
        folder: the folder of `remit.toml`.
        anchors: name to absolute path.

    Raises:
        ValueError: an anchor is not known, or a relative path has no folder to start from.
    """
    text = pattern.removesuffix("/**")
    for name, value in anchors.items():
        text = text.replace(f"${{{name}}}", value)
    if "${" in text:
        known = ", ".join(f"${{{name}}}" for name in sorted(anchors)) or "none"
        raise ValueError(f"{pattern!r} has an unknown anchor (known here: {known})")
    if "*" in text:
        raise ValueError(f"{pattern!r}: name a folder; a path below it always counts")
    real = real_path(text, base=folder)
    if real is None and text.startswith("/"):
        raise ValueError(
            f"nobody can tell where {pattern!r} leads: write a folder without /proc, /dev and .. after a link"
        )
    if real is None:
        raise ValueError(
            f"{pattern!r} is no absolute path, and there is no folder to start from;"
            f" write {_in_workspace(text)!r} for a folder of the workspace"
        )
    return real


def stray(pattern: str, *, folder: str | None, anchors: Mapping[str, str]) -> str:
    """Return a warning about a relative folder pattern that can meet nothing of the workspace, else an empty text."""
    workspace = anchors.get("workspace")
    if workspace is None or pattern.startswith(("/", "$")):
        return ""
    place = expand(pattern, folder=folder, anchors=anchors)
    if lies_under(place, workspace) or lies_under(workspace, place):
        return ""
    inside = _in_workspace(pattern)
    return (
        f"{pattern!r} starts from the folder of remit.toml and means {place}; for one of the workspace write {inside!r}"
    )


def _in_workspace(pattern: str) -> str:
    return "${workspace}/" + pattern.removeprefix("./").lstrip("/")


def lies_under(path: str, folder: str) -> bool:
    """Tell whether a real path is `folder` or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@lru_cache(maxsize=1024)
def _one_form(name: str) -> str | None:
    if _HOST_TROUBLE & set(name) or not name.isprintable():
        return None
    if ":" in name or _is_numeric(name):
        return _address(name)
    if _TWO_READINGS & set(name):
        return None
    try:
        ascii_name = name.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return None
    labels = ascii_name.split(".")
    fine = all(label.replace("-", "a").replace("_", "a").isalnum() for label in labels)
    return ascii_name if fine else None


def _is_numeric(name: str) -> bool:
    last = name.rsplit(".", 1)[-1].lower()
    return last.isdigit() or (last.startswith("0x") and all(c in "0123456789abcdef" for c in last[2:]))


def _address(text: str) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
