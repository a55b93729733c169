"""Single entries of a permission: how each key's entries are read and compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from remit.errors import PolicyError
from remit.packs.net_patterns import net_within, parse_net
from remit.packs.path_patterns import parse_path, path_within

_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_ENV_CREDENTIAL = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|CREDENTIALS?|AUTH)(_|$)")
_ENV_LOADER = re.compile(r"(LD|DYLD|PYTHON|GCONV|GLIBC|MALLOC)_?\w*|PATH|HOME|TMPDIR|IFS|BASH_ENV|ENV")
_SECRET = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PROGRAM = re.compile(r"[A-Za-z0-9_.+-]{1,64}")


def _parse_program(text: str) -> str:
    if text.startswith("/") and not text.endswith("/**"):
        return parse_path(text)
    if _PROGRAM.fullmatch(text) and text.strip("."):
        return text
    raise PolicyError(f"{text[:200]!r} is no program: write its name or its absolute path")


def _parse_env(text: str) -> str:
    if not _ENV.fullmatch(text):
        raise PolicyError(f"{text[:200]!r} is no name of an environment variable")
    if _ENV_CREDENTIAL.search(text.upper()):
        raise PolicyError(f"env {text!r} looks like a credential; ask for it under secrets")
    if _ENV_LOADER.fullmatch(text.upper()):
        raise PolicyError(f"env {text!r} changes how programs are loaded, and is never given")
    return text


def _parse_secret(text: str) -> str:
    if _SECRET.fullmatch(text):
        return text
    raise PolicyError(f"{text[:200]!r} is no secret's name: lower-case letters, digits and _")


def _equal(narrow: str, wide: str) -> bool:
    return narrow == wide


PARSERS: Mapping[str, Callable[[str], str]] = {
    "fs.read": parse_path,
    "fs.write": parse_path,
    "net": parse_net,
    "exec": _parse_program,
    "env": _parse_env,
    "secrets": _parse_secret,
}
"""Key to the function that reads one entry; PolicyError for what is none."""

WITHIN: Mapping[str, Callable[[str, str], bool]] = {
    "fs.read": path_within,
    "fs.write": path_within,
    "net": net_within,
    "exec": _equal,
    "env": _equal,
    "secrets": _equal,
}
"""Key to the function that says whether one entry (first) allows nothing that another does not."""


def reduced(key: str, entries: Iterable[str]) -> tuple[str, ...]:
    """Sort entries of `key`, and drop what another one covers."""
    unique = sorted(set(entries))
    within = WITHIN[key]
    return tuple(entry for entry in unique if not any(other != entry and within(entry, other) for other in unique))
