"""What can be said about one argument: a closed set of operators over typed values.

The answer is yes, no, or *cannot tell* (None): an address with a display name, a URL with a user
name, a type that the operator does not know. A rule that is not `allow` takes *cannot tell* as a
match, an allow rule takes it as none, so that doubt never makes a call laxer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from remit.policy.places import (
    HostPattern,
    address_domain,
    expand,
    host_matches,
    lies_under,
    real_path,
    split_pattern,
    url_host,
)
from remit.policy.shapes import Missing

if TYPE_CHECKING:
    from remit.policy.config import OperatorConfig

Truth = bool | None
"""Yes, no, or cannot tell."""


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where the paths of rules start.

    Attributes:
        folder: the folder of `remit.toml`; None when there is none.
        anchors: name to absolute path (`workspace`).
    """

    folder: str | None
    anchors: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One operator with its operand, ready to be asked about values."""

    operator: str
    operand: Any

    def holds(self, value: Any, base: str | None) -> Truth:
        """Tell whether it holds for `value`; relative paths start from `base`."""
        if isinstance(value, Missing):
            return None if value.known else False
        if value is None and self.operator not in ("eq", "in"):
            return self.operator == "each"
        return _OPERATORS[self.operator](value, self.operand, base)


def prepare(config: OperatorConfig, places: Places) -> tuple[Condition, ...]:
    """Return the conditions of `config`, all of which must hold.

    Raises:
        ValueError: an operand makes no sense; the message says which and why.
    """
    return tuple(Condition(operator=name, operand=_operand(name, operand, places)) for name, operand in config.given)


def conjunction(truths: Iterable[Truth]) -> Truth:
    """Return whether all hold: one no is no, else one doubt is doubt."""
    seen = set(truths)
    return False if False in seen else None if None in seen else True


def disjunction(truths: Iterable[Truth]) -> Truth:
    """Return whether any holds: one yes is yes, else one doubt is doubt."""
    seen = set(truths)
    return True if True in seen else None if None in seen else False


def negation(truth: Truth) -> Truth:
    """Return the opposite; doubt stays doubt."""
    return None if truth is None else not truth


def same(left: Any, right: Any) -> Truth:
    """Compare JSON values; true is not 1, 1 is 1.0, texts that differ only in Unicode form are doubt."""
    if isinstance(left, str) and isinstance(right, str):
        if left == right:
            return True
        return None if unicodedata.normalize("NFC", left) == unicodedata.normalize("NFC", right) else False
    if isinstance(left, list) and isinstance(right, (list, tuple)):
        if len(left) != len(right):
            return False
        return conjunction(same(one, other) for one, other in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, Mapping):
        if left.keys() != right.keys():
            return False
        return conjunction(same(left[key], right[key]) for key in left)
    return bool(left == right and isinstance(left, bool) == isinstance(right, bool))


def _operand(name: str, operand: Any, places: Places) -> Any:
    if name in ("each", "any", "len"):
        return prepare(operand, places)
    if name == "path_under":
        return tuple(expand(pattern, folder=places.folder, anchors=places.anchors) for pattern in operand)
    if name in ("domain", "host"):
        return tuple(map(split_pattern, operand))
    if name in ("lt", "gt") and isinstance(operand, str) and _moment(operand) is None:
        raise ValueError(f"{operand!r} is neither a number nor an ISO date, date-time or time")
    return operand


def _eq(value: Any, operand: Any, base: str | None) -> Truth:
    return same(value, operand)


def _in(value: Any, operand: Any, base: str | None) -> Truth:
    return disjunction(same(value, item) for item in operand)


def _order(value: Any, operand: Any) -> int | None:
    """Return -1, 0 or 1, or None when the two cannot be compared."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)) and isinstance(operand, (int, float)):
        return (value > operand) - (value < operand)
    left, right = _moment(value), _moment(operand)
    if left is None or right is None or type(left) is not type(right):
        return None
    try:
        return int(left > right) - int(left < right)
    except TypeError:
        return None


def _moment(text: Any) -> Any:
    if not isinstance(text, str):
        return None
    for kind in (date, datetime, time):
        try:
            return kind.fromisoformat(text)
        except ValueError:
            continue
    return None


def _lt(value: Any, operand: Any, base: str | None) -> Truth:
    order = _order(value, operand)
    return None if order is None else order < 0


def _gt(value: Any, operand: Any, base: str | None) -> Truth:
    order = _order(value, operand)
    return None if order is None else order > 0


def _domain(value: Any, operand: tuple[HostPattern, ...], base: str | None) -> Truth:
    domain = address_domain(value) if isinstance(value, str) else None
    if domain is None:
        return None
    return any(host_matches(domain, None, pattern) for pattern in operand)


def _host(value: Any, operand: tuple[HostPattern, ...], base: str | None) -> Truth:
    found = url_host(value) if isinstance(value, str) else None
    if found is None:
        return None
    return any(host_matches(*found, pattern) for pattern in operand)


def _path_under(value: Any, operand: tuple[str, ...], base: str | None) -> Truth:
    path = real_path(value, base=base) if isinstance(value, str) else None
    if path is None:
        return None
    return any(lies_under(path, folder) for folder in operand)


def _each(value: Any, operand: tuple[Condition, ...], base: str | None) -> Truth:
    if not isinstance(value, list):
        return None
    return conjunction(condition.holds(item, base) for item in value for condition in operand)


def _any(value: Any, operand: tuple[Condition, ...], base: str | None) -> Truth:
    if not isinstance(value, list):
        return None
    return disjunction(conjunction(condition.holds(item, base) for condition in operand) for item in value)


def _len(value: Any, operand: tuple[Condition, ...], base: str | None) -> Truth:
    if not isinstance(value, (str, list, dict)):
        return None
    return conjunction(condition.holds(len(value), base) for condition in operand)


_OPERATORS: Mapping[str, Callable[[Any, Any, str | None], Truth]] = {
    "eq": _eq,
    "in": _in,
    "lt": _lt,
    "gt": _gt,
    "domain": _domain,
    "host": _host,
    "path_under": _path_under,
    "each": _each,
    "any": _any,
    "len": _len,
}
