"""Tests of packs: a pack's skills run through the whole pipeline, in a test of its author.

```python
from remit import testing

with testing.pack(".", settings={"units": "metric"}) as pack:
    result = pack.call("convert", {"amount": 3})
    assert result.status == "ok" and result.value == 4.8
```

With pytest, the fixture `remit_pack` opens the pack of the project that the test belongs to.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit.testing.network import Place
    from remit.testing.opening import pack
    from remit.testing.tried import Failed, TriedPack

_WHERE = {"Failed": "tried", "Place": "network", "TriedPack": "tried", "pack": "opening"}

__all__ = ["Failed", "Place", "TriedPack", "pack"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
