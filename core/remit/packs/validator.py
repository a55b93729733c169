"""The validator: jsonschema-rs with a linear-time regular expression engine and pydantic's formats."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from remit.errors import SchemaError

if TYPE_CHECKING:
    from jsonschema_rs import Validator

MAX_PATTERNS = 32
"""Most distinct patterns in one schema; each is compiled within `_REGEX_BYTES`."""

_REGEX_BYTES = 2 * 1024 * 1024
_DIGITS = re.compile(r"\s*[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\s*")


def compile_schema(schema: Mapping[str, Any]) -> Validator:
    """Compile an accepted schema; nothing is ever fetched and no pattern can hang.

    Raises:
        SchemaError: a pattern that the linear-time engine cannot compile (look-around, back-references).
    """
    import jsonschema_rs

    _check_patterns(schema)
    try:
        return jsonschema_rs.Draft202012Validator(
            dict(schema),
            formats=_formats(),
            validate_formats=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES),
            offline=True,
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        reason = str(getattr(error, "message", error)).splitlines()[0][:200]
        raise SchemaError(
            f"The schema cannot be used: {reason}.",
            remedy="Patterns must do without look-around and back-references.",
        ) from None


def _check_patterns(schema: Mapping[str, Any]) -> None:
    found: set[str] = set()
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            found.update([node["pattern"]] if isinstance(node.get("pattern"), str) else ())
            found.update(node.get("patternProperties") or ())
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    if len(found) > MAX_PATTERNS:
        raise SchemaError(f"The schema has {len(found)} patterns; at most {MAX_PATTERNS} are accepted.")


@cache
def _formats() -> dict[str, Callable[..., bool]]:
    """Return format checks that agree with pydantic's own types, in the strict mode that cells use."""
    from pydantic_core import core_schema

    return {
        "date": _pydantic(core_schema.date_schema(), digits=False),
        "date-time": _pydantic(core_schema.datetime_schema(), digits=False),
        "time": _pydantic(core_schema.time_schema(), digits=False),
        "duration": _pydantic(core_schema.timedelta_schema(), digits=False),
        "uuid": _pydantic(core_schema.uuid_schema()),
        **{f"uuid{version}": _pydantic(core_schema.uuid_schema(version=version)) for version in (1, 3, 4, 5, 6, 7, 8)},
        "uri": _pydantic(core_schema.url_schema()),
        "multi-host-uri": _pydantic(core_schema.multi_host_url_schema()),
        "ipv4": _python(ipaddress.IPv4Address),
        "ipv6": _python(ipaddress.IPv6Address),
        "ipv4network": _python(ipaddress.IPv4Network),
        "ipv6network": _python(ipaddress.IPv6Network),
        "ipvanyaddress": _python(ipaddress.ip_address),
        "ipvanynetwork": _python(ipaddress.ip_network),
        "ipvanyinterface": _python(ipaddress.ip_interface),
    }


def _pydantic(schema: Any, *, digits: bool = True) -> Callable[[str], bool]:
    """Check a text as the cell's strict conversion will; without `digits` a bare number is no date."""
    import json

    from pydantic_core import SchemaValidator, ValidationError

    validator = SchemaValidator(schema)

    def fits(text: str) -> bool:
        if not digits and _DIGITS.fullmatch(text):
            return False
        try:
            validator.validate_json(json.dumps(text), strict=True)
        except ValidationError:
            return False
        return True

    return fits


def _python(read: Callable[[str], object]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return fits
