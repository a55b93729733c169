"""Prices from a file that others maintain: LiteLLM's `model_prices_and_context_window.json`. Nothing is downloaded."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from remit.errors import DeploymentError
from remit.models.price import MILLION, Price

LARGEST = 32 * 1024 * 1024
"""Most bytes of the file."""


def listed_price(path: Path, name: str, provider: str = "") -> Price | None:
    """Return the price of a model, None where the list does not have it.

    The name counts as it is, then with the provider in front (`anthropic/NAME`), then without what stands before its
    last slash or before a colon. A model that is listed without a price for both ways has none.

    Args:
        path: of the file: an object of model names, each with `input_cost_per_token` and `output_cost_per_token`, and
            perhaps `cache_read_input_token_cost` and `cache_creation_input_token_cost`.
        name: of the model.
        provider: as configured; may be empty.

    Raises:
        DeploymentError: the file cannot be read.
    """
    listed = _read(path)
    prefix, _, rest = name.partition(":")
    for known in (name, f"{provider}/{name}", name.rpartition("/")[2], f"{prefix}/{rest}", rest):
        if known in listed:
            return _price(listed[known])
    return None


def _read(path: Path) -> Mapping[str, Any]:
    try:
        about = path.stat()
        if about.st_size > LARGEST:
            raise DeploymentError(f"the list of prices {path} is larger than {LARGEST} bytes")
        return _parsed(path, about.st_mtime_ns, about.st_size)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is no JSON object of models"
        raise DeploymentError(
            f"the list of prices {path} cannot be read: {reason}",
            remedy="correct prices under [model], or take it out and write price = { input = ..., output = ... }",
        ) from error


@lru_cache(maxsize=4)
def _parsed(path: Path, changed: int, size: int) -> Mapping[str, Any]:
    """Return the list; read again when the file has changed."""
    with path.open("rb") as file:
        body = json.loads(file.read(LARGEST + 1))
    if not isinstance(body, dict):
        raise ValueError("no object")
    return body


def _price(row: Any) -> Price | None:
    if not isinstance(row, dict):
        return None
    read, written = (_per_million(row.get(f"{way}_cost_per_token")) for way in ("input", "output"))
    if read is None or written is None:
        return None
    return Price(
        input=read,
        output=written,
        cache_read=_per_million(row.get("cache_read_input_token_cost")),
        cache_write=_per_million(row.get("cache_creation_input_token_cost")),
    )


def _per_million(cost: Any) -> float | None:
    if not isinstance(cost, int | float) or isinstance(cost, bool):
        return None
    price = float(cost) * MILLION
    return price if math.isfinite(price) and price >= 0 else None
