"""Checks of options that need more than argparse."""

from __future__ import annotations

from collections.abc import Container

from remit.errors import UsageError


def checked_dialect(name: str | None) -> str | None:
    """Return `name` when it is `native` or a known dialect; a UsageError names the nearest."""
    if name is None or name == "native":
        return name
    from difflib import get_close_matches

    from remit.dialects import known_dialects

    known = ["native", *known_dialects()]
    if name in known:
        return name
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(f"--dialect: there is no dialect {name!r}{hint} (known: {', '.join(known)})")


def checked_key(reference: str | None, more: Container[str] = ()) -> str | None:
    """Return a reference to a key; a UsageError when it is none, or leads to nothing. `more`: kinds of extensions."""
    if reference is None:
        return None
    import os

    from remit.models.keys import KINDS

    kind, _, where = reference.partition(":")
    if (f"{kind}:" not in KINDS and kind not in more) or not where:
        raise UsageError(
            "--api-key takes the place of a key, never the key itself", remedy="--api-key env:NAME or file:PATH"
        )
    if kind == "env" and not os.environ.get(where, "").strip():
        raise UsageError(f"--api-key: the environment variable {where} is not set", remedy=f"export {where}=...")
    return reference
