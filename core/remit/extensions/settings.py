"""The settings of an extension, as its author wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from remit.errors import UsageError


def require_fitting(
    extension: str, table: Mapping[str, Any], fits: Mapping[str, Callable[[Any], bool]], *, remedy: str
) -> None:
    """Check the table `[extensions.settings.NAME]`.

    Args:
        extension: its name.
        table: what is written there.
        fits: key to what says whether a value fits.
        remedy: settings that would fit, for people.

    Raises:
        UsageError: a key is not among them, or its value does not fit.
    """
    for key, value in table.items():
        if key not in fits or not fits[key](value):
            raise UsageError(
                f"[extensions.settings.{extension}] {key} = {value!r} is no setting, or does not fit", remedy=remedy
            )
