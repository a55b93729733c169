"""Asks an OpenAI-compatible endpoint what texts mean; its answer is checked like anybody else's."""

from __future__ import annotations

import json
import math
import struct
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

SECONDS = 15
LARGEST = 16 * 1024 * 1024
"""Bytes of an answer."""

MOST_AT_ONCE = 32
"""Texts of one request."""

_DIMENSIONS = range(8, 8193)


class NoEmbedding(Exception):
    """The endpoint gave nothing that can be used; the message says why, without its key."""


def embed(texts: Sequence[str], settings: Mapping[str, Any], key: str | None) -> list[bytes]:
    """Return what the model makes of each text, as packed 32-bit floats.

    Args:
        texts: at most `MOST_AT_ONCE`.
        settings: of the pack.
        key: for the endpoint, None where it wants none.

    Raises:
        NoEmbedding: it cannot be reached, refuses, or answers something else.
    """
    address = f"{'https' if settings['tls'] else 'http'}://{settings['embeddings'][0]}{settings['path']}"
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    body = json.dumps({"model": settings["model"], "input": list(texts), "encoding_format": "float"}).encode()
    request = urllib.request.Request(address, data=body, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    try:
        with opener.open(request, timeout=SECONDS) as response:
            answer = response.read(LARGEST + 1)
    except urllib.error.HTTPError as error:
        with error:
            raise NoEmbedding(f"the endpoint for embeddings answered {error.code}") from None
    except OSError as error:
        raise NoEmbedding(f"the endpoint for embeddings cannot be reached: {getattr(error, 'reason', error)}") from None
    return _vectors(answer, len(texts))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key goes to the host that the deployment named, and to no other."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nothing."""


def _vectors(answer: bytes, count: int) -> list[bytes]:
    try:
        rows = json.loads(answer)["data"]
        found = [row["embedding"] for row in sorted(rows, key=lambda row: int(row.get("index", 0)))]
        vectors = [[float(value) for value in one] for one in found]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise NoEmbedding("the endpoint for embeddings answered something else") from None
    lengths = {len(one) for one in vectors}
    if len(vectors) != count or len(lengths) != 1 or not lengths <= set(_DIMENSIONS):
        raise NoEmbedding("the endpoint for embeddings answered something else")
    if not all(any(one) and all(map(math.isfinite, one)) for one in vectors):
        raise NoEmbedding("the endpoint for embeddings gave numbers that are none")
    return [struct.pack(f"{len(one)}f", *one) for one in vectors]
