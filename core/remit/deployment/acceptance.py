"""Which `remit.toml` and `remit.lock` this person has accepted: kept in the state, signed, never in the lock."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from remit.account import account
from remit.deployment.allowed import allowed_skills
from remit.deployment.files import DeploymentFiles
from remit.errors import DeploymentError
from remit.plain_file import read_plain
from remit.state_folder import StateFolder, person_key, write_private

_NAME = "accepted.json"
_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """Who allowed one skill what it may do now, and when.

    Attributes:
        what: digest over what it may do.
        who: the person's name on this machine.
        when: ISO time, UTC.
    """

    what: str
    who: str
    when: str


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """What one person accepted for one deployment.

    Attributes:
        deployment: id of the deployment.
        digest: over both files.
        who: the person's name on this machine.
        when: ISO time, UTC.
        config: text of `remit.toml`, to rank later edits against.
        lock: text of `remit.lock`.
        skills: full name of each enabled skill to who allowed what it may do now; one whose rights did not
            change keeps the name and time of the acceptance that gave them.
    """

    deployment: str
    digest: str
    who: str
    when: str
    config: str
    lock: str
    skills: Mapping[str, Allowed] = field(default_factory=dict)


def accept(files: DeploymentFiles, state: StateFolder) -> Acceptance:
    """Record that this person accepts both files as they are, in the log, too.

    Raises:
        StateError: the log cannot be written; then nothing is accepted.
    """
    who, when, before = account(), datetime.now(UTC).isoformat(timespec="seconds"), accepted(state)
    known = before.skills if before else {}
    new = {name: Allowed(what=what, who=who, when=when) for name, what in allowed_skills(files).items()}
    acceptance = Acceptance(
        deployment=state.id,
        digest=files.digest,
        who=who,
        when=when,
        config=files.config.text,
        lock=files.lock_data.decode("utf-8", "replace"),
        skills={name: _first(known.get(name), one) for name, one in new.items()},
    )
    body = asdict(acceptance)
    _record(acceptance, before, state)
    try:
        write_private(state.path / _NAME, json.dumps({"body": body, "mac": _mac(body)}).encode())
    except OSError as error:
        raise DeploymentError(f"{state.path / _NAME} cannot be written: {error.strerror or error}") from error
    return acceptance


def _record(now: Acceptance, before: Acceptance | None, state: StateFolder) -> None:
    """Write `policy.changed`: who accepted, and which skills that gives, changes or takes away."""
    from remit.state.store import State

    known = before.skills if before else {}
    body = {
        "digest": now.digest,
        "was": before.digest if before else "",
        "by": now.who,
        "allowed": sorted(name for name, one in now.skills.items() if known.get(name) != one),
        "withdrawn": sorted(known.keys() - now.skills.keys()),
    }
    with State(state.path) as log:
        log.append("policy.changed", body=body, who=now.who)


def _first(known: Allowed | None, now: Allowed) -> Allowed:
    return known if known is not None and known.what == now.what else now


def accepted(state: StateFolder) -> Acceptance | None:
    """Return what was accepted for the deployment of `state`.

    None when nothing was, when the record is not signed with this person's key, or when it was
    made for another deployment.
    """
    try:
        record = json.loads(read_plain(state.path / _NAME, _LARGEST))
        body, mac = record["body"], record["mac"]
        if not isinstance(mac, str) or not hmac.compare_digest(_mac(body), mac):
            return None
        skills = {name: Allowed(**one) for name, one in body.get("skills", {}).items()}
        acceptance = Acceptance(**{**body, "skills": skills})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return acceptance if acceptance.deployment == state.id else None


def _mac(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True).encode()
    return hmac.new(person_key(), b"remit acceptance 1\n" + text, hashlib.sha256).hexdigest()
