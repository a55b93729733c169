"""Where an endpoint is: its URL from whatever people configure, and the proxy on the way to it."""

from __future__ import annotations

import ipaddress
import re
import warnings
from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from remit.errors import DeploymentError

ENDPOINT = "/chat/completions"
_SECRET_WORDS = re.compile(r"key|token|secret|sig|pass|auth", re.IGNORECASE)
_VERSION = re.compile(r"/v[0-9]+[a-z0-9]*$")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?", re.IGNORECASE)


def chat_url(base_url: str) -> str:
    """Return the URL of chat completions for `base_url`.

    A URL without a path gets `/v1`; any other path is kept, with `/chat/completions` added unless
    it is there already. White space around it and doubled slashes go; a query stays.

    Raises:
        DeploymentError: it is no http or https URL with a host.
    """
    parts, path = _parsed(base_url)
    path = path or "/v1"
    if not path.endswith(ENDPOINT):
        path += ENDPOINT
    return urlunsplit((parts.scheme.lower(), parts.netloc, path, parts.query, ""))


def versioned_url(base_url: str, version: str, ending: str) -> str:
    """Return the URL of one method of an API whose paths begin with a version.

    A path that ends with a version (`/v1`, `/v1beta`) gets `ending`, any other one `version` before it; one that has
    `ending` already is kept. White space and doubled slashes go; a query stays.

    Raises:
        DeploymentError: it is no http or https URL with a host.
    """
    parts, path = _parsed(base_url)
    if not path.endswith(ending):
        path += ending if _VERSION.search(path) else version + ending
    return urlunsplit((parts.scheme.lower(), parts.netloc, path, parts.query, ""))


def _parsed(base_url: str) -> tuple[SplitResult, str]:
    """Return the parts of a configured URL, and its path without doubled slashes and one at the end."""
    url = base_url.strip()
    parts = _split(url) if url.isprintable() and " " not in url else None
    if parts is None or parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise DeploymentError(
            f"base_url {shown_url(url)!r} is no http or https URL",
            remedy="write it like http://127.0.0.1:11434/v1",
        )
    return parts, re.sub("/+", "/", parts.path).rstrip("/")


def shown_url(url: str) -> str:
    """Return `url` as it may be shown: without a password, and without secrets in its query."""
    parts = _split(url)
    if parts is None:
        return "(unreadable)"
    netloc = parts.netloc.rpartition("@")[2]
    query = parts.query
    if query:
        pairs = parse_qsl(query, keep_blank_values=True)
        query = urlencode([(k, "***" if _SECRET_WORDS.search(k) else v) for k, v in pairs], safe="*")
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """Return the proxy for `url` that `environment` names, None for a direct connection.

    `environment` maps `http`, `https`, `all` and `no` to their values, as
    `urllib.request.getproxies` gives them. This machine itself is always reached directly.
    Entries of the no-proxy list that cannot be read are left out, with one warning.
    """
    parts = urlsplit(url)
    proxy = environment.get(parts.scheme) or environment.get("all")
    if not proxy or _bypassed((parts.hostname or "").lower(), environment.get("no", "")):
        return None
    proxy = proxy.strip()
    return proxy if "://" in proxy else f"http://{proxy}"


def _bypassed(host: str, no_proxy: str) -> bool:
    entries = [entry for entry in re.split(r"[,\s]+", no_proxy.lower()) if entry]
    if "*" in entries:
        return True
    unreadable = [entry for entry in entries if not _readable(entry)]
    if unreadable:
        shown = ", ".join(ascii(entry) for entry in unreadable)
        warnings.warn(f"NO_PROXY has entries that cannot be read and are left out: {shown}", stacklevel=4)
    rules = [*entries, "localhost", "127.0.0.0/8", "::1"]
    return any(_covers(rule, host) for rule in rules)


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(_bare(entry), strict=False)
    except ValueError:
        return None


def _bare(entry: str) -> str:
    """Return an entry without scheme, brackets and port."""
    entry = entry.rpartition("://")[2]
    if entry.startswith("["):
        inside, _, rest = entry[1:].partition("]")
        return inside + (rest if rest.startswith("/") else "")
    return entry.partition(":")[0] if entry.count(":") == 1 else entry


def _readable(entry: str) -> bool:
    name = _bare(entry).removeprefix("*").removeprefix(".")
    return _network(entry) is not None or bool(_HOST.fullmatch(name))


def _covers(entry: str, host: str) -> bool:
    network = _network(entry)
    if network is None:
        name = _bare(entry).removeprefix("*").strip(".")
        return bool(name) and (host == name or host.endswith(f".{name}"))
    try:
        return ipaddress.ip_address(host) in network
    except ValueError:
        return False
