"""Says in plain words what a permission allows, and proposes the narrowest grant."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from remit.packs.limits import LIMITS, amount
from remit.packs.manifest import Manifest, Setting
from remit.packs.permissions import NOTHING, Permission, effective_effect
from remit.values import Effect

_FOLDERS = {
    "${workspace}": "the workspace",
    "${data}": "the pack's own data folder",
    "${tmp}": "its temporary folder",
}
_EFFECTS: Mapping[Effect, str] = {
    "read": "changes nothing",
    "write": "changes files of the deployment",
    "external": "acts on the world outside",
}
_IMPACTS = {
    "destroy": "can destroy something",
    "money": "can spend money",
    "publish": "can publish something",
    "privacy": "can reveal private data",
    "authority": "can give somebody power",
}


def explain_in_words(permission: Permission) -> list[str]:
    """Return one sentence per thing that is allowed, the gravest first; one that says so for nothing."""
    sentences = [
        *(_program(name) for name in permission.exec),
        *(f"may change {_place(path)}" for path in permission.fs_write),
        *(_host(pattern) for pattern in permission.net),
        *(f"is given the secret {name}" for name in permission.secrets),
        *(f"may read {_place(path)}" for path in permission.fs_read),
        *(f"sees the environment variable {name}" for name in permission.env),
        *(["may use shared memory"] if permission.shm else []),
        *(f"has a limit of its own: {name} {_amount(value)}" for name, value in permission.limits.items()),
    ]
    return sentences or ["has no right beyond computing: no files, no network, no programs, no secrets"]


def _place(path: str) -> str:
    if path == "/**":
        return "EVERY file of this machine that you may use yourself"
    folder, whole = path.removesuffix("/**"), path.endswith("/**")
    anchor, _, rest = folder.partition("/")
    if anchor not in _FOLDERS:
        return f"everything in {folder}" if whole else f"the file {folder}"
    if not rest:
        return f"{_FOLDERS[anchor]} and everything in it"
    return f"{'everything in' if whole else 'the file'} {rest} (in {_FOLDERS[anchor]})"


def _host(pattern: str) -> str:
    host, _, port = pattern.rpartition(":")
    if host == "*":
        return f"may connect to ANY host on port {port}, and so send anything anywhere"
    if host.startswith("*."):
        return f"may connect to every host under {host[2:]} on port {port}"
    return f"may connect to {host} on port {port}"


def _program(name: str) -> str:
    return f"may run the program {name}, which can do whatever that program can within the same limits"


def _amount(value: float) -> str:
    if value >= 1024 * 1024 and value % (1024 * 1024) == 0:
        return f"{int(value) // (1024 * 1024)} MiB"
    return f"{value:g}"


def explain_skill(
    manifest: Manifest,
    skill: str,
    settings: Mapping[str, Setting] | None = None,
    *,
    accept_read: bool = False,
    grant: Permission | None = None,
) -> list[str]:
    """Return what one skill may do: its effect, what is declared only, its impact, its rights.

    Args:
        manifest: of the pack.
        skill: name of the skill.
        settings: with the deployment's overrides; the defaults when None.
        accept_read: the deployer accepts its declared `read`.
        grant: what the deployment gives the pack; all that it asks for when None.
    """
    table = manifest.skills[skill]
    permission = given_to(manifest, skill, settings, grant)
    effect = effective_effect(table.effect, permission, accept_read=accept_read)
    return [
        *_effect_words(skill, table.effect, effect, permission),
        *(_IMPACTS[impact] for impact in table.impact),
        *explain_in_words(permission),
    ]


def _effect_words(skill: str, declared: Effect, effect: Effect, permission: Permission) -> list[str]:
    unverified = "it reaches the network" if permission.net else "it uses a secret" if permission.secrets else ""
    if effect == declared == "read":
        changed = f"{_EFFECTS[effect]} but what is the pack's own" if permission.fs_write else _EFFECTS[effect]
        verified = f" as it declares, which cannot be verified: {unverified}" if unverified else f": {changed}"
        return [f"{effect}{verified}"]
    words = [f"{effect}: {_EFFECTS[effect]}"]
    if effect == "external" and declared == "read" and unverified and not permission.exec:
        said = f"it declares read, which cannot be verified: {unverified}"
        return [*words, f'{said} (accept_read = ["{skill}"] would take it as read)']
    if effect != declared:
        words.append(f"says that it is {declared}, and its rights imply {effect}")
    return words


def given_to(
    manifest: Manifest, skill: str, settings: Mapping[str, Setting] | None = None, grant: Permission | None = None
) -> Permission:
    """Return what one skill asks for, or what a grant to its pack gives it."""
    asked = manifest.skill_permission(skill, settings)
    return asked if grant is None else asked.under(grant)


def propose_grant(
    manifest: Manifest,
    settings: Mapping[str, Setting] | None = None,
    *,
    skills: Iterable[str] | None = None,
) -> Permission:
    """Return the narrowest sensible grant: what the chosen skills use, and nothing that none of them uses.

    Args:
        manifest: of the pack.
        settings: with the deployment's overrides; the defaults when None.
        skills: names of the chosen skills; all when None.
    """
    chosen = manifest.skills if skills is None else skills
    return united(manifest.skill_permission(name, settings) for name in chosen)


def united(parts: Iterable[Permission]) -> Permission:
    """Return what any of `parts` allows; no right at all for none."""
    return reduce(Permission.union, list(parts) or [NOTHING])


def grant_lines(grant: Permission, permission: Permission) -> list[str]:
    """Return the lines for `[packs.NAME]` in remit.toml that give `grant` where it is less than `permission`.

    A key that is left out there gives what the pack asks for, so equal keys need no line.
    """
    mine, asked = grant.words(), permission.words()
    lines = [
        f"grant.{key} = {_toml(mine.get(key, ()))}"
        for key in asked
        if key not in ("shm", "limits") and mine.get(key, ()) != asked[key]
    ]
    if permission.shm and not grant.shm:
        lines.append("grant.shm = false")
    names = [name for name in LIMITS if grant.limit(name) != permission.limit(name)]
    return lines + [f"grant.limits.{name} = {amount(grant.limit(name))}" for name in sorted(names)]


def _toml(entries: Sequence[str]) -> str:
    return "[" + ", ".join(json.dumps(entry) for entry in entries) + "]"
