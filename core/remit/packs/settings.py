"""Settings of a pack: typed by their defaults, overridden by the deployment, filled into permissions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from remit.errors import DeploymentError, PolicyError
from remit.packs.tables import Setting

_REFERENCE = re.compile(r"\$\{setting\.([^}]*)\}")


def merge_settings(pack: str, defaults: Mapping[str, Setting], overrides: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the defaults with `overrides` laid over them.

    Raises:
        DeploymentError: an unknown setting (the nearest one is named) or a value of another type.
    """
    merged = dict(defaults)
    for name, value in overrides.items():
        if name not in defaults:
            nearest = difflib.get_close_matches(name, list(defaults), n=1)
            hint = f"; did you mean {nearest[0]}?" if nearest else ""
            raise DeploymentError(f"packs.{pack}.settings.{name}: pack {pack} has no such setting{hint}")
        merged[name] = _typed(f"packs.{pack}.settings.{name}", defaults[name], value)
    return merged


def _typed(where: str, default: Setting, value: Any) -> Setting:
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    fits = type(value) is type(default)
    if isinstance(default, list):
        fits = fits and all(isinstance(entry, str) for entry in value)
    if not fits:
        raise DeploymentError(f"{where} must be of the type of its default, {_type(default)}")
    chosen: Setting = value
    return chosen


def _type(value: Setting) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return names.get(type(value), "a list of texts")


def fill_entries(entries: Iterable[str], settings: Mapping[str, Setting]) -> list[str]:
    """Fill `${setting.x}` into entries of a permission.

    A setting that is a list gives several entries, where it is the whole of an entry.

    Raises:
        PolicyError: no such setting, or one whose type cannot stand there.
    """
    return [filled for entry in entries for filled in fill(entry, settings)]


def fill(entry: str, settings: Mapping[str, Setting]) -> list[str]:
    """Fill one entry; see `fill_entries`."""
    whole = _REFERENCE.fullmatch(entry.partition(":")[2]) or _REFERENCE.fullmatch(entry)
    if whole:
        value = _value(whole[1], settings)
        if isinstance(value, list):
            return [entry.replace(whole[0], part) for part in value]
    return [_REFERENCE.sub(lambda match: _text(match[1], settings), entry)]


def _value(name: str, settings: Mapping[str, Setting]) -> Setting:
    if name in settings:
        return settings[name]
    nearest = difflib.get_close_matches(name, list(settings), n=1)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    raise PolicyError(f"${{setting.{name}}}: there is no such setting{hint}")


def _text(name: str, settings: Mapping[str, Setting]) -> str:
    value = _value(name, settings)
    if isinstance(value, bool | float | list):
        raise PolicyError(f"${{setting.{name}}} must be a text or a whole number to stand there")
    return str(value)
