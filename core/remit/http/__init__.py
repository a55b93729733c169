"""Remit over HTTP: an ASGI app for runs, sign-offs, sessions and the audit.

```python
app = create_app(deployment, identify=lambda request: request.headers.get("x-user"))
```

It needs `pip install "remit[http]"`. The names below are imported when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from remit.http.app import App as App
    from remit.http.app import create_app as create_app
    from remit.http.identity import Identity as Identity
    from remit.http.local_key import LocalKey as LocalKey
    from remit.http.rate import Rates as Rates
    from remit.http.tokens import Tokens as Tokens

_HOMES = {
    "App": "remit.http.app",
    "Identity": "remit.http.identity",
    "LocalKey": "remit.http.local_key",
    "Rates": "remit.http.rate",
    "Tokens": "remit.http.tokens",
    "create_app": "remit.http.app",
}

__all__ = ["App", "Identity", "LocalKey", "Rates", "Tokens", "create_app"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'remit.http' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
