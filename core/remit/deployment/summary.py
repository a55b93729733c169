"""What a person is shown before accepting a deployment: everything in it that gives rights or sends data.

Texts of the file are its author's own words, and the author may be anybody: what a rule *does* is
rendered from the rule, and its reason follows marked as said.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from remit.deployment.config import Config, PackConfig
from remit.deployment.files import DeploymentFiles
from remit.deployment.layers import canonical
from remit.deployment.news import given_to_skills
from remit.errors import RemitError
from remit.packs.locked import Lock, LockedPack
from remit.packs.permissions import Permission
from remit.packs.words import explain_in_words, united
from remit.policy.config import MatchConfig, RuleConfig


def summary(files: DeploymentFiles) -> Iterator[str]:
    """Say what the deployment may do and whom it speaks to, one line each."""
    config = files.config.config
    yield from _where(config)
    yield from _defaults(config)
    yield from map(_rule, config.rules)
    yield from _host_code(config, files.lock)
    for name, pack in sorted(config.packs.items()):
        if pack.enabled:
            yield from _pack(name, pack, files.lock.packs.get(name.lower().replace("-", "_")))


def _rights(pack: PackConfig, locked: LockedPack) -> list[str]:
    """Say what the chosen skills are given; a setting of the deployment may move a host."""
    try:
        given = given_to_skills(locked, pack)
    except RemitError as error:
        return [f"its grant cannot be read: {error.message}"]
    moved = [Permission(net=pack.grant.net or ())] if pack.settings else []
    names = ", ".join(given) or "none"
    return [*explain_in_words(united([*given.values(), *moved])), f"skills: {names}"]


def _where(config: Config) -> Iterator[str]:
    if config.model.base_url:
        key = f", with the key of {config.model.api_key}" if config.model.api_key else ""
        yield f"model requests go to {config.model.base_url}{key}"
    if config.workspace != "workspace":
        yield f"the workspace is {config.workspace}"
    if config.notify.command:
        command = " ".join(map(shlex.quote, config.notify.command))
        yield f"when a call waits for a person, this runs with all rights of this program: {command}"
    if config.notify.webhook:
        yield f"when a call waits for a person, {config.notify.webhook} is told"
    if config.agent.prompt:
        yield f"the model is told: {json.dumps(config.agent.prompt, ensure_ascii=False)}"


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
        parts.append(f"(it says: {json.dumps(rule.reason, ensure_ascii=False)})")
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
            yield f"  its settings: {json.dumps(settings, ensure_ascii=False, default=str)}"
    if config.extensions.signoff:
        yield f"people are asked over the sign-off channel {config.extensions.signoff} of an extension"
    for name in config.extensions.pydantic_plugins:
        yield f"pydantic plugin {name} runs in the host, not confined"
    for name in config.host_skills.allow:
        yield f"function {name} of the program runs in the host, not confined"


def _pack(name: str, pack: PackConfig, locked: LockedPack | None) -> Iterator[str]:
    if locked is None:
        yield f"pack {name} is enabled, and nothing of it is locked yet: it stays off"
    else:
        yield f"pack {name} ({locked.distribution} {locked.version}), its skills together:"
        yield from (f"  {line}" for line in _rights(pack, locked))
    for secret, reference in sorted(pack.secrets.items()):
        yield f"  gets {reference} as its secret {secret}"
    if pack.settings:
        shown = json.dumps(pack.settings, ensure_ascii=False, default=str)
        yield f"  settings: {shown} (a host named here takes the place of the pack's own)"
    if pack.accept_read:
        yield f"  counts as reading, although that cannot be verified: {', '.join(pack.accept_read)}"
