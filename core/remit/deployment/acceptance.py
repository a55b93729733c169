"""Which `remit.toml` and `remit.lock` this person has accepted: kept in the state, signed, never in the lock."""

from __future__ import annotations

import getpass
import hashlib
import hmac
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from remit.deployment.files import DeploymentFiles
from remit.state_folder import StateFolder, person_key, write_private

_NAME = "accepted.json"


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
    """

    deployment: str
    digest: str
    who: str
    when: str
    config: str
    lock: str


def accept(files: DeploymentFiles, state: StateFolder) -> Acceptance:
    """Record that this person accepts both files as they are."""
    acceptance = Acceptance(
        deployment=state.id,
        digest=files.digest,
        who=_who(),
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        config=files.config.text,
        lock=files.lock_data.decode("utf-8", "replace"),
    )
    body = asdict(acceptance)
    write_private(state.path / _NAME, json.dumps({"body": body, "mac": _mac(body)}).encode())
    return acceptance


def accepted(state: StateFolder) -> Acceptance | None:
    """Return what was accepted for the deployment of `state`.

    None when nothing was, when the record is not signed with this person's key, or when it was
    made for another deployment.
    """
    try:
        record = json.loads((state.path / _NAME).read_text("utf-8"))
        body, mac = record["body"], record["mac"]
        if not isinstance(mac, str) or not hmac.compare_digest(_mac(body), mac):
            return None
        acceptance = Acceptance(**body)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return acceptance if acceptance.deployment == state.id else None


def _mac(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True).encode()
    return hmac.new(person_key(), b"remit acceptance 1\n" + text, hashlib.sha256).hexdigest()


def _who() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
