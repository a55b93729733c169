"""What a person is shown before accepting a deployment: every value in it that is not the standard one.

What gives rights or sends data is said in words, all the rest (a table that is new to this file, too) as it is written.
Texts of the file are its author's own words, and the author may be anybody: what a rule *does* is
rendered from the rule, and its reason follows marked as said.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress

from remit.deployment.config import Config, PackConfig
from remit.deployment.endpoints import TOLD_OF_A_MODEL, agents, requests
from remit.deployment.files import DeploymentFiles
from remit.deployment.layers import canonical
from remit.deployment.leaves import Key, as_text, said
from remit.deployment.news import given_to_skills
from remit.deployment.rights import pack_grant
from remit.errors import RemitError
from remit.packs.discovery import discover
from remit.packs.locked import Lock, LockedPack
from remit.packs.manifest import Manifest, read_pack_manifest
from remit.packs.permissions import Permission
from remit.packs.words import explain_in_words, given_to, united
from remit.policy.config import MatchConfig, RuleConfig


def summary(files: DeploymentFiles) -> Iterator[str]:
    """Say what the deployment may do and whom it speaks to, one line each."""
    config = files.config.config
    yield from _where(config, files.lock)
    yield from agents(config, files.lock)
    yield from _defaults(config)
    yield from map(_rule, config.rules)
    yield from _host_code(config, files.lock)
    manifests = _manifests(files)
    for name, pack in sorted(config.packs.items()):
        if pack.enabled:
            own = canonical(name)
            yield from _pack(name, pack, files.lock.packs.get(own), manifests.get(own))
    yield from _further(config, files.lock)


def _further(config: Config, lock: Lock) -> Iterator[str]:
    """Say what no sentence above says: each value that is not the standard one, as it is written."""
    told = list(_told(config, lock))
    rest = [(key, value) for key, value in said(config).items() if not any(_begins(key, start) for start in told)]
    if rest:
        yield "further settings:"
        yield from (f"  {'.'.join(key)} = {as_text(value)}" for key, value in rest)


def _told(config: Config, lock: Lock) -> Iterator[Key]:
    """Yield the beginnings of the keys whose values stand in the sentences."""
    yield from _TOLD
    yield from (("model", *key) for key in TOLD_OF_A_MODEL)
    yield from (("extensions", "settings", name) for name in config.extensions.enabled)
    for name in config.agents:
        yield from (("agents", name, key) for key in ("description", "prompt"))
        yield from (("agents", name, "model", *key) for key in TOLD_OF_A_MODEL)
    for name, pack in config.packs.items():
        if pack.enabled:
            yield from (("packs", name, key) for key in _TOLD_OF_A_PACK)
            if canonical(name) in lock.packs:
                yield from (("packs", name, key) for key in ("grant", "skills"))


def _begins(key: Key, start: Key) -> bool:
    """Tell whether a key begins so; `*` stands for any number in a list."""
    return len(key) >= len(start) and all(two in ("*", one) for one, two in zip(key, start, strict=False))


_TOLD: tuple[Key, ...] = (
    ("workspace",),
    ("agent", "prompt"),
    ("agent", "fragments"),
    *(("defaults", key) for key in ("read", "write", "external", "enforcement", "allow_yes")),
    *(("notify", key) for key in ("command", "webhook", "arguments")),
    *(("telemetry", key) for key in ("export", "content")),
    *(("memory", key) for key in ("facts", "store")),
    *(("extensions", key) for key in ("enabled", "signoff", "pydantic_plugins")),
    ("host_skills", "allow"),
    ("rule",),
)
_TOLD_OF_A_PACK = ("enabled", "secrets", "settings", "describe", "accept_read")


def _rights(pack: PackConfig, locked: LockedPack, manifest: Manifest | None) -> list[str]:
    """Say what the chosen skills are given; a setting of the deployment may move a host."""
    try:
        given = _given(pack, manifest) if manifest is not None else given_to_skills(locked, pack)
    except RemitError as error:
        return [f"its grant cannot be read: {error.message}"]
    moved = [Permission(net=pack.grant.net or ())] if pack.settings and manifest is None else []
    names = ", ".join(given) or "none"
    return [*explain_in_words(united([*given.values(), *moved])), f"skills: {names}"]


def _given(pack: PackConfig, manifest: Manifest) -> dict[str, Permission]:
    """Return what each chosen skill is given with the deployment's own settings."""
    given = pack_grant(manifest, pack, {})
    names = [name for name in manifest.skills if pack.skills is None or name in pack.skills]
    return {name: given_to(manifest, name, given.settings, given.grant) for name in names}


def _manifests(files: DeploymentFiles) -> dict[str, Manifest]:
    """Return the manifests of packs that have settings here and are installed with the very one that is locked."""
    wanted = {canonical(name) for name, pack in files.config.config.packs.items() if pack.enabled and pack.settings}
    here = discover().packs if wanted else {}
    found: dict[str, Manifest] = {}
    for name in wanted & here.keys() & files.lock.packs.keys():
        with suppress(RemitError):
            manifest = read_pack_manifest(here[name])
            if manifest.digest == files.lock.packs[name].manifest:
                found[name] = manifest
    return found


def _where(config: Config, lock: Lock) -> Iterator[str]:
    yield from requests(config.model, config, lock)
    if config.workspace != "workspace":
        yield f"the workspace is {config.workspace}"
    yield from _notified(config)
    if config.telemetry.export != "none" or config.telemetry.content:
        by = {"none": "by this program", "console": "to standard error", "otlp": "to where the OTEL_* variables say"}
        what = "with arguments, results and messages" if config.telemetry.content else "without what is said in them"
        yield f"runs are exported {by[config.telemetry.export]} ({config.telemetry.export}), {what}"
    if config.memory.facts:
        yield "what the model notes of a person is kept, and told to the model when a session begins (facts)"
    if config.memory.store:
        yield f"what is remembered of people is kept in the memory store {config.memory.store} of an extension"
    if config.agent.prompt is not None:
        yield f"the model is told: {as_text(config.agent.prompt)}"
    for name, text in sorted(config.agent.fragments.items()):
        yield f"the model is told, as the fragment {name}: {as_text(text)}"


def _notified(config: Config) -> Iterator[str]:
    notify = config.notify
    if notify.command:
        command = " ".join(map(shlex.quote, notify.command))
        yield f"when a call waits for a person, this runs with all rights of this program: {command}"
    if notify.webhook:
        yield f"when a call waits for a person, {notify.webhook} is told"
    if notify.arguments:
        yield "whoever is told of a call that waits is told its arguments, too"


def _defaults(config: Config) -> Iterator[str]:
    defaults = config.defaults
    yield f"without a rule: read {defaults.read}, write {defaults.write}, external {defaults.external}"
    if defaults.enforcement == "available":
        yield "what this machine cannot confine runs all the same (enforcement = available)"
    if defaults.allow_yes:
        yield "--yes-to-writes may answer for a person (allow_yes)"


def _rule(rule: RuleConfig) -> str:
    parts = [f"rule {rule.id}: {rule.verdict} {_calls(rule.match)}"]
    if rule.unless is not None:
        parts.append(f"unless {_calls(rule.unless)}")
    if rule.when is not None:
        parts.append(f"when {rule.when.model_dump_json(exclude_unset=True)}")
    if rule.reason:
        parts.append(f"(it says: {as_text(rule.reason)})")
    return " ".join(parts)


def _calls(match: MatchConfig) -> str:
    written = match.model_dump_json(exclude_unset=True, by_alias=True)
    return "every call" if written == "{}" else f"calls with {written}"


def _host_code(config: Config, lock: Lock) -> Iterator[str]:
    for name in config.extensions.enabled:
        locked = lock.extensions.get(canonical(name))
        if locked is None:
            yield f"extension {name} runs in the host, not confined, once it is locked; until then it stays off"
        else:
            source = f"{locked.distribution} {locked.version}"
            yield f"extension {name} ({source}) runs in the host, not confined, with all rights of this program"
        if settings := config.extensions.settings.get(name):
            yield f"  its settings: {as_text(settings)}"
    if config.extensions.signoff:
        yield f"people are asked over the sign-off channel {config.extensions.signoff} of an extension"
    for name in config.extensions.pydantic_plugins:
        yield f"pydantic plugin {name} runs in the host, not confined"
    for name in config.host_skills.allow:
        yield f"function {name} of the program runs in the host, not confined"


def _pack(name: str, pack: PackConfig, locked: LockedPack | None, manifest: Manifest | None) -> Iterator[str]:
    if locked is None:
        yield f"pack {name} is enabled, and nothing of it is locked yet: it stays off"
    else:
        yield f"pack {name} ({locked.distribution} {locked.version}), its skills together:"
        yield from (f"  {line}" for line in _rights(pack, locked, manifest))
    for secret, reference in sorted(pack.secrets.items()):
        yield f"  gets {reference} as its secret {secret}"
    for setting, value in sorted(pack.settings.items()):
        moves = "" if manifest is not None else "; a host in it takes the place of the pack's own"
        yield f"  setting {setting} = {as_text(value)}{moves}"
    for what, text in sorted(pack.describe.items()):
        yield f"  the model reads of {what}: {as_text(text)}"
    if pack.accept_read:
        yield f"  counts as reading, although that cannot be verified: {', '.join(pack.accept_read)}"
