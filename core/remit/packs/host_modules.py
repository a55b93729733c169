"""Modules that Remit, or what it needs, imports where they happen to be installed: theirs is host code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from remit.packs.folding import fold

_OTHERWISE = {
    "backports.zstd": "backports-zstd",
    "dbus": "dbus-python",
    "dotenv": "python-dotenv",
    "gi": "pygobject",
    "multipart": "python-multipart",
    "yaml": "pyyaml",
}
_ALIKE = """
a2wsgi bcrypt brotli brotlicffi click email_validator exceptiongroup h2 httptools itsdangerous jeepney jinja2 keyring
python_multipart rich secretstorage sniffio socksio starlette tokenizers tornado trio uvicorn uvloop watchfiles
websockets winloop wsproto zstandard
"""
_SHARED = ("opentelemetry",)
"""Folders that many distributions put modules into, each named after it."""

HOST_MODULES = {**{name: fold(name) for name in _ALIKE.split()}, **_OTHERWISE, **{name: f"{name}-" for name in _SHARED}}
"""Module, mostly a top-level one, to the folded name of its distribution, or to what that begins with (ends in `-`)."""


def strange_host_modules(distribution: str, modules: Iterable[str]) -> Iterator[str]:
    """Yield those of a distribution's modules that the host would import and that belong to another one."""
    name = fold(distribution)
    for module in sorted(set(modules) & HOST_MODULES.keys()):
        owner = HOST_MODULES[module]
        if name != owner and not (owner.endswith("-") and name.startswith(owner)):
            yield module
