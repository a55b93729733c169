"""Collects what extensions give: each thing checked, with its origin, and none under two names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from remit.extensions.importing import Broken
from remit.extensions.plugin import Plugin
from remit.extensions.values import NO_PROVIDERS, OWN_PROVIDER, SCHEMES, ExtensionProblem, Item, Kind
from remit.extensions.wording import described

LONGEST_FRAGMENT = 4_000
"""Characters that a prompt fragment may have."""

_NAME = re.compile(r"[a-z][a-z0-9_]{1,31}")


def gather(plugins: Iterable[Plugin]) -> tuple[tuple[Item, ...], tuple[ExtensionProblem, ...]]:
    """Ask every extension what it gives.

    An extension of which one hook fails gives nothing at all. Of two that give the same name neither does.
    """
    items: list[Item] = []
    problems: list[ExtensionProblem] = []
    for plugin in plugins:
        try:
            items += _items(plugin)
        except Broken as broken:
            problems.append(problem(plugin.name, broken))
    by_name: dict[tuple[Kind, str], list[Item]] = {}
    for item in items:
        if item.kind != "observer":
            by_name.setdefault((item.kind, item.name), []).append(item)
    rivals = [one for one in by_name.values() if len(one) > 1]
    problems += (_collision(item, each) for each in rivals for item in each)
    lost = [item for each in rivals for item in each]
    return tuple(item for item in items if item not in lost), tuple(problems)


def problem(name: str, broken: Broken) -> ExtensionProblem:
    """Return what is wrong with an extension as a value."""
    return ExtensionProblem(extension=name, reason=broken.reason, remedy=broken.remedy, details=broken.details)


def _items(plugin: Plugin) -> list[Item]:
    found: list[Item] = []
    for hook in plugin.hooks:
        if hook not in _ADDING:
            found.append(_item(plugin, "observer", hook, plugin))
            continue
        kind, unfit = _ADDING[hook]
        for name, value in _given(plugin, hook):
            why = unfit(name, value)
            if why:
                raise Broken(f"the {kind} {str(name)[:60]!a} that it gives cannot be used: {why}")
            found.append(_item(plugin, kind, name, value))
    return found


def _item(plugin: Plugin, kind: Kind, name: str, value: Any) -> Item:
    return Item(kind=kind, name=name, extension=plugin.name, source=plugin.installed.source, value=value)


def _given(plugin: Plugin, hook: str) -> Iterator[tuple[str, Any]]:
    try:
        results = plugin.call(hook)
    except (Exception, SystemExit) as error:
        raise Broken(f"its hook {hook} failed: {described(error)}", remedy="ask its author, or update it") from error
    for result in results:
        if not isinstance(result, Mapping):
            raise Broken(f"its hook {hook} gave {type(result).__name__} where a mapping of names is due")
        yield from result.items()


def _collision(item: Item, rivals: Iterable[Item]) -> ExtensionProblem:
    others = ", ".join(one.origin for one in rivals if one is not item) or "itself"
    return ExtensionProblem(
        extension=item.extension,
        reason=f"its {item.kind} {item.name} is also given by {others}, so neither is used",
        remedy=f"disable one of them: remit extensions disable {item.extension}",
    )


def _named(reserved: tuple[str, ...], unfit: Callable[[Any], str]) -> Callable[[Any, Any], str]:
    def check(name: Any, value: Any) -> str:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            return "its name needs 2 to 32 lower-case letters, digits and _"
        return "that name is Remit's own" if name in reserved else unfit(value)

    return check


def _with(*methods: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        missing = [name for name in methods if not callable(getattr(value, name, None))]
        return f"it has no method {missing[0]}" if missing else ""

    return check


def _no_function(value: Any) -> str:
    return "" if callable(value) else f"it is {type(value).__name__}, which cannot be called"


def _no_text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        return "it is no text"
    return f"it is longer than {LONGEST_FRAGMENT} characters" if len(value) > LONGEST_FRAGMENT else ""


def _no_dialect(value: Any) -> str:
    from remit.dialects.form import Dialect

    return "" if isinstance(value, Dialect) else f"it is {type(value).__name__}, not a remit.dialects.form.Dialect"


_ADDING: Mapping[str, tuple[Kind, Callable[[Any, Any], str]]] = {
    "add_model_providers": ("model provider", _named((OWN_PROVIDER, *NO_PROVIDERS), _no_function)),
    "add_dialects": ("dialect", _named((), _no_dialect)),
    "add_secret_providers": ("secret provider", _named(SCHEMES, _no_function)),
    "add_signoff_channels": ("sign-off channel", _named(("terminal",), _with("ask"))),
    "add_audit_sinks": ("audit sink", _named((), _with("write", "close"))),
    "add_memory_stores": ("memory store", _named(("state",), _with("facts", "put", "forget"))),
    "add_prompt_fragments": ("prompt fragment", _named((), _no_text)),
}
"""Hook to the kind of what it gives, and to what says why a name or value is unfit; empty for one that fits."""
