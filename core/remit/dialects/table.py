"""The one table of dialects: a new one is a file of its own and a line here.

A file is imported when its dialect is used; `auto` uses all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module

from remit.dialects.form import Dialect, Form

WHERE: Mapping[str, str] = {
    "tagged": "tagged.TAGGED",
    "react": "plain.REACT",
    "json": "plain.JSON",
    "hermes": "tagged.HERMES",
    "qwen_xml": "qwen_xml.DIALECT",
    "llama": "llama.DIALECT",
    "pythonic": "pythonic.DIALECT",
    "mistral": "mistral.DIALECT",
    "deepseek": "deepseek.DIALECT",
    "kimi": "kimi.DIALECT",
    "glm": "glm.DIALECT",
    "harmony": "harmony.DIALECT",
    "gemma": "gemma.DIALECT",
    "minimax": "invoke.DIALECT",
    "minimax_m3": "minimax_m3.DIALECT",
    "granite": "granite.DIALECT",
    "phi": "phi.DIALECT",
    "command": "command.DIALECT",
}
"""Where each dialect stands: file and name in it."""

DIALECTS: tuple[str, ...] = ("auto", *WHERE)
"""The names of Remit's own dialects; `known_dialects` has those that were added, too.

`auto` knows all by their marks. Bare and fenced JSON that names a known skill counts in every dialect.
"""

_added: dict[str, Dialect] = {}


def known_dialects() -> tuple[str, ...]:
    """Return the names of all dialects: Remit's own, then those that were added with `register_dialect`."""
    return (*DIALECTS, *_added)


def put(name: str, dialect: Dialect) -> None:
    """Add a dialect that was checked; `remit.dialects.registry` does that."""
    _added[name] = dialect
    _forget()


def take(name: str) -> None:
    """Take out a dialect that was added."""
    del _added[name]
    _forget()


def _forget() -> None:
    dialect_named.cache_clear()
    forms_and_tags.cache_clear()


@lru_cache(maxsize=64)
def dialect_named(name: str) -> Dialect:
    """Return a dialect of the table; `auto` is written as `tagged` is.

    Raises:
        KeyError: there is none of that name.
    """
    if name == "auto":
        every = [*(dialect_named(each) for each in WHERE), *_added.values()]
        forms = dict.fromkeys(form for dialect in every for form in dialect.forms)
        return Dialect(forms=tuple(forms), writing=dialect_named("tagged").writing, labels=None)
    if name in _added:
        return _added[name]
    file, _, attribute = WHERE[name].partition(".")
    found: Dialect = getattr(import_module(f"remit.dialects.{file}"), attribute)
    return found


@lru_cache(maxsize=64)
def forms_and_tags(name: str, tag: str) -> tuple[tuple[Form, ...], tuple[str, ...]]:
    """Return the forms to read in a dialect, most telling first, and the tags of the tagged form among them."""
    from remit.dialects.tagged import ALSO_TAGS, FORM, tagged_form

    dialect = dialect_named(name)
    tags = tuple(dict.fromkeys((dialect.tag or tag, *(ALSO_TAGS if name == "auto" else ()))))
    particular = tuple(form for form in dialect.forms if form is not FORM)
    return (*particular, *([tagged_form(tags)] if FORM in dialect.forms else ())), tags
