"""What every table of `remit.toml` is made of: closed, with lists of text and references to secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationInfo

REFERENCE = re.compile(r"(env|file|keyring):\S.*")
_OF_EXTENSION = re.compile(r"[a-z][a-z0-9_]{1,31}:\S.*")


def is_reference(text: str, *, extensions: bool = False) -> bool:
    """Say whether `text` is a reference to a secret.

    Args:
        text: what is written.
        extensions: some are enabled, which may resolve references of kinds of their own; whether one really
            does turns out when they are loaded.
    """
    return (_OF_EXTENSION if extensions else REFERENCE).fullmatch(text) is not None


def as_tuple(value: Any) -> Any:
    """Return a list of TOML as the tuple that a frozen value holds."""
    return tuple(value) if isinstance(value, list) else value


def _reference(value: str, info: ValidationInfo) -> str:
    enabled = isinstance(info.context, Mapping) and bool(info.context.get("extensions"))
    if not is_reference(value, extensions=enabled):
        raise ValueError(
            "write where the secret is kept (env:NAME, file:/path or keyring:service/name), never the secret"
        )
    return value


Texts = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
"""A list of text."""

Reference = Annotated[str, AfterValidator(_reference)]
"""Where a secret is kept: `env:NAME`, `file:/absolute/path`, `keyring:service/name`, or an extension's kind.

The last counts only when the context of validation has `extensions`, the names of those that are enabled.
"""


class Closed(BaseModel):
    """A table in which an unknown key is an error and nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
