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
        path: of the file: an object of model names, each with `input_cost_per_token` and `output_cost_per_token`.
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
    costs = [row.get(f"{way}_cost_per_token") if isinstance(row, dict) else None for way in ("input", "output")]
    if not all(isinstance(cost, int | float) and not isinstance(cost, bool) for cost in costs):
        return None
    per_million = [float(cost) * MILLION for cost in costs if cost is not None]
    if not all(math.isfinite(cost) and cost >= 0 for cost in per_million):
        return None
    return Price(input=per_million[0], output=per_million[1])
