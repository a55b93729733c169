"""`str.format` without attributes: a template may number, name and index its fields, and nothing else.

An attribute in a template is read by the interpreter itself, past every guard (CVE-2023-41039).
"""

from __future__ import annotations

from _string import formatter_field_name_split, formatter_parser  # type: ignore[import-not-found]
from collections.abc import Callable
from typing import Any

DEEPEST = 3
"""Levels of fields within fields; Python itself takes two."""


def check_template(template: str, depth: int = 0) -> None:
    """Refuse a template that reads an attribute.

    Raises:
        ValueError: it does, or it is no template.
    """
    if depth > DEEPEST:
        raise ValueError("Max string recursion exceeded")
    for _, field, spec, _ in formatter_parser(template):
        if field and any(is_attribute for is_attribute, _ in formatter_field_name_split(field)[1]):
            raise ValueError(f"attributes are not available in format(); write an f-string: f'{{{field}}}'")
        if field and "{" in field:
            check_template(field, depth + 1)
        if spec:
            check_template(spec, depth + 1)


def safe_format(template: str, /, *arguments: Any, **named: Any) -> str:
    """`str.format` for templates without attributes."""
    plain = str.__str__(template)
    check_template(plain)
    return plain.format(*arguments, **named)


def safe_format_map(template: str, mapping: Any, /) -> str:
    """`str.format_map` for templates without attributes."""
    plain = str.__str__(template)
    check_template(plain)
    return plain.format_map(mapping)


SAFE: dict[str, Callable[..., str]] = {"format": safe_format, "format_map": safe_format_map}
"""What stands in for the methods of `str`."""

RAW = {str.format: safe_format, str.format_map: safe_format_map}
"""The methods themselves, as they are found on the class, and what stands in for them."""


def bound(function: Callable[..., str], template: str) -> Callable[..., str]:
    """Return a stand-in with its template given."""

    def stand_in(*arguments: Any, **named: Any) -> str:
        return function(template, *arguments, **named)

    return stand_in
