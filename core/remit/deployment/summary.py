"""What a person is shown before accepting a deployment: everything in it that gives rights or sends data.

Texts of the file are its author's own words, and the author may be anybody: what a rule *does* is
rendered from the rule, and its reason follows marked as said.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress

from remit.deployment.config import Config, PackConfig
from remit.deployment.files import DeploymentFiles
from remit.deployment.layers import canonical
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
    yield from _where(config)
    yield from _defaults(config)
    yield from map(_rule, config.rules)
    yield from _host_code(config, files.lock)
    manifests = _manifests(files)
    for name, pack in sorted(config.packs.items()):
        if pack.enabled:
            own = canonical(name)
            yield from _pack(name, pack, files.lock.packs.get(own), manifests.get(own))


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


def _where(config: Config) -> Iterator[str]:
    if config.model.base_url:
        key = f", with the key of {config.model.api_key}" if config.model.api_key else ""
        yield f"model requests go to {config.model.base_url}{key}"
    for other in config.model.fallback:
        key = f", with the key of {other.api_key}" if other.api_key else ""
        where = other.base_url or other.provider or "the address of OPENAI_BASE_URL"
        yield f"when that model is down, requests go to {other.name} at {where}{key}"
    if config.workspace != "workspace":
        yield f"the workspace is {config.workspace}"
    if config.notify.command:
        command = " ".join(map(shlex.quote, config.notify.command))
        yield f"when a call waits for a person, this runs with all rights of this program: {command}"
    if config.notify.webhook:
        yield f"when a call waits for a person, {config.notify.webhook} is told"
    if config.agent.prompt:
        yield f"the model is told: {json.dumps(config.agent.prompt, ensure_ascii=False)}"
    for name, text in sorted(config.agent.fragments.items()):
        yield f"the model is told, as the fragment {name}: {json.dumps(text, ensure_ascii=False)}"


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


def _pack(name: str, pack: PackConfig, locked: LockedPack | None, manifest: Manifest | None) -> Iterator[str]:
    if locked is None:
        yield f"pack {name} is enabled, and nothing of it is locked yet: it stays off"
    else:
        yield f"pack {name} ({locked.distribution} {locked.version}), its skills together:"
        yield from (f"  {line}" for line in _rights(pack, locked, manifest))
    for secret, reference in sorted(pack.secrets.items()):
        yield f"  gets {reference} as its secret {secret}"
    for setting, value in sorted(pack.settings.items()):
        shown = json.dumps(value, ensure_ascii=False, default=str)
        moves = "" if manifest is not None else "; a host in it takes the place of the pack's own"
        yield f"  setting {setting} = {shown}{moves}"
    if pack.accept_read:
        yield f"  counts as reading, although that cannot be verified: {', '.join(pack.accept_read)}"
