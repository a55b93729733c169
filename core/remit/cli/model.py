"""`remit model`: which models answer, how they are spoken to, and where that comes from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json, opened
from remit.extensions.extensions import NO_EXTENSIONS

if TYPE_CHECKING:
    from pathlib import Path

    from remit.deployment.config import Config, FallbackConfig, ModelConfig
    from remit.extensions.asked_provider import Asked
    from remit.extensions.extensions import Extensions

UNSAID = "-"
"""Shown for what nobody said."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its action."""
    parser.epilog = "example:\n  remit model show\n"
    actions = parser.add_subparsers(dest="what", metavar="action", required=True)
    shown = add_action(
        actions,
        "show",
        "print each model, what is taken for granted of it, and where that comes from",
        """
        remit model show
        remit model show --model gpt-5-mini
        remit model show --json
        """,
    )
    shown.add_argument("--model", help="name of a model, instead of the deployment's")
    add_folder(shown)
    add_json(shown)
    shown.set_defaults(action=show, read_only=False)


def show(options: argparse.Namespace) -> int:
    """Print what is in force; nobody is asked, and no key is needed."""
    with opened(options, quiet=options.json) as deployment:
        models = described(deployment.config, deployment.folder, options.model, deployment.extensions)
    if options.json:
        screen.say_json({"models": models})
        return 0
    for line in _lines(models):
        screen.say(screen.visible(line))
    return 0


def described(
    config: Config, folder: Path, name: str | None, extensions: Extensions = NO_EXTENSIONS
) -> list[dict[str, Any]]:
    """Return the models in the order in which they are asked, as plain JSON.

    Args:
        config: of the deployment.
        folder: that references to files are relative to.
        name: of a model instead of the deployment's own; then it has no fallbacks.
        extensions: what gives providers.
    """
    from remit.extensions.asked_provider import asked_by_table
    from remit.loop.chosen_model import asked_for

    own = config.model
    given = {item.name for item in extensions.of("model provider")}
    asked = asked_for(name, None, config, extensions)
    models = [_described(name or own.name, own, config, folder, asked, given)]
    if asked.provider != asked_by_table(own, extensions).provider:
        models[0]["base_url"] = ""
    if name:
        return models
    others = ((one, asked_by_table(one, extensions)) for one in own.fallback)
    return [*models, *(_described(one.name, one, config, folder, at, given) for one, at in others)]


def _described(
    name: str, one: ModelConfig | FallbackConfig, config: Config, folder: Path, asked: Asked, given: set[str]
) -> dict[str, Any]:
    from dataclasses import asdict

    from remit.loop.chosen_model import price_of
    from remit.loop.manner import in_force

    price, source = price_of(name, one, config.model, folder)
    return {
        "name": name,
        "provider": asked.provider,
        "given": asked.own or asked.provider in given,
        "base_url": one.base_url,
        "timeout": one.timeout,
        "total_timeout": one.total_timeout,
        "breaker": config.model.breaker.model_dump(),
        "price": None if price is None else {**asdict(price), "from": source},
        "behaviour": in_force(name, one),
    }


def _lines(models: list[dict[str, Any]]) -> Iterator[str]:
    for number, model in enumerate(models):
        if number:
            yield ""
        provider = model["provider"] + ("" if model["given"] else ", which no enabled extension gives")
        yield f"{model['name'] or '(no name)'} ({provider}){', when those above are down' if number else ''}"
        total = f", {model['total_timeout']:g} s in all" if model["total_timeout"] else ""
        breaker = model["breaker"]
        yield f"  waits {model['timeout']:g} s for a byte{total}; after {breaker['failures']} failures in a row"
        yield f"  it is left alone for {breaker['seconds']:g} s"
        price = model["price"]
        if price is not None:
            kept = (("cache_read", "read from the cache"), ("cache_write", "kept in it"))
            cached = "".join(f", {price[key]:g} {what}" for key, what in kept if price[key] is not None)
            yield f"  a million tokens cost {price['input']:g} in, {price['output']:g} out{cached} ({price['from']})"
        rows = [(row["key"], _shown(row["value"]), row["from"].partition(":")[0]) for row in model["behaviour"]]
        yield from screen.table(("what", "value", "from"), rows).splitlines()
        yield from sorted({row["from"] for row in model["behaviour"] if row["from"].startswith("table:")})


def _shown(value: object) -> str:
    if value is None:
        return UNSAID
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
