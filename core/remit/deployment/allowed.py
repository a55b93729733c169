"""What each enabled skill may do, as one digest: an acceptance remembers who allowed it first."""

from __future__ import annotations

import json

from remit.deployment.config import PackConfig
from remit.deployment.files import DeploymentFiles
from remit.deployment.layers import canonical
from remit.deployment.news import given_to_skills
from remit.errors import RemitError
from remit.packs.hashes import digest
from remit.packs.locked import LockedPack


def allowed_skills(files: DeploymentFiles) -> dict[str, str]:
    """Return full name of each enabled and locked skill to a digest over what it may do.

    In it are its declared effect and impact, what it is given, the pack's settings, secrets and distribution; not
    the code: a version that wants the same is the same permission.
    """
    found: dict[str, str] = {}
    for written, table in files.config.config.packs.items():
        name = canonical(written)
        locked = files.lock.packs.get(name)
        if table.enabled and locked is not None:
            found.update({f"{name}.{skill}": what for skill, what in _skills(locked, table).items()})
    return found


def _skills(locked: LockedPack, table: PackConfig) -> dict[str, str]:
    try:
        given = given_to_skills(locked, table)
    except RemitError:
        return {}
    shared = [locked.distribution, dict(table.settings), dict(table.secrets)]
    return {
        name: _digest(
            [
                *shared,
                locked.skills[name].effect,
                list(locked.skills[name].impact),
                {key: list(entries) for key, entries in right.words().items()},
                name in table.accept_read,
            ]
        )
        for name, right in given.items()
    }


def _digest(what: list[object]) -> str:
    """Return one digest; a setting may be a date, which JSON has no word for."""
    return digest(json.dumps(what, sort_keys=True, default=repr).encode())
