"""Whether a deployment may do anything on this machine yet, and how a person says yes."""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from remit.deployment.acceptance import Acceptance, accept, accepted
from remit.deployment.anchors import workspace_of
from remit.deployment.changes import NO_CHANGES, Changes, compare
from remit.deployment.files import DeploymentFiles, lock_from, read_files
from remit.deployment.load import parse_config
from remit.deployment.source import LOCK_NAME
from remit.deployment.summary import summary
from remit.errors import NotTrusted, RemitError, UsageError
from remit.state_folder import StateFolder, find_state, open_state

VARIABLE = "REMIT_TRUST"

LOCK_GONE = "take remit.lock back from version control\nor: remit apply (locks what is installed now, once you agree)"
"""What to do where the lock is gone."""

By = Literal["person", "narrower", "digest", "managed", ""]
"""Who accepted it: this person; this person, and it only became narrower; `REMIT_TRUST`; root; nobody."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Whether a deployment is accepted.

    Attributes:
        by: who accepted it, empty for nobody.
        digest: over both files as they are now.
        acceptance: the last acceptance of this person, if any.
        changes: what differs from that acceptance.
        lock_gone: there was a `remit.lock` when it was accepted, and there is none now.
    """

    by: By
    digest: str
    acceptance: Acceptance | None = None
    changes: Changes = NO_CHANGES
    lock_gone: bool = False

    @property
    def trusted(self) -> bool:
        """Whether it may be used."""
        return self.by != ""


def standing(files: DeploymentFiles, state: StateFolder | None, *, managed: Sequence[str] = ()) -> Standing:
    """Judge a deployment.

    Args:
        files: its files as they were read.
        state: its state folder, None when it has none yet.
        managed: digests that the managed file accepts.
    """
    digest = files.digest
    acceptance = accepted(state) if state else None
    if acceptance and hmac.compare_digest(acceptance.digest, digest):
        return Standing(by="person", digest=digest, acceptance=acceptance)
    changes = _since(acceptance, files)
    by: By = ""
    if digest == os.environ.get(VARIABLE, "").strip():
        by = "digest"
    elif digest in managed:
        by = "managed"
    elif changes is not None and not changes.needs_trust:
        by = "narrower"
    gone = acceptance is not None and bool(acceptance.lock.strip()) and not files.lock_data
    return Standing(by=by, digest=digest, acceptance=acceptance, changes=changes or NO_CHANGES, lock_gone=gone)


def require(found: Standing, folder: Path) -> None:
    """Raise NotTrusted unless the deployment is accepted; the message says what would become wider.

    Its exit code is 4 for a change that widens, 5 for one that cannot be ranked, 1 for a deployment
    that nobody ever accepted here.
    """
    if found.trusted:
        return
    asked = found.changes.lines("widens", "unranked")
    why = "it changed since you accepted it: " + "; ".join(asked) if asked else "nobody has accepted it on this machine"
    given, remedy = os.environ.get(VARIABLE, "").strip(), "remit apply" if asked else "remit trust"
    if given:
        why += f", and {VARIABLE} accepts other files ({given[:71]!a}; these have {found.digest})"
    if found.lock_gone:
        why = f"{folder / LOCK_NAME} is gone, and with it what was locked of each pack; {why}"
    raise NotTrusted(
        f"the deployment in {folder} does nothing yet: {why}",
        remedy=LOCK_GONE if found.lock_gone else f"read remit.toml, then run `{remedy}`",
        exit_code=found.changes.exit_code,
    )


def trust_digest(folder: str | Path) -> str:
    """Return the digest over `remit.toml` and `remit.lock` that `REMIT_TRUST` takes."""
    return read_files(folder).digest


def trust(folder: str | Path, *, digest: str | None = None) -> Acceptance:
    """Accept the deployment in `folder` as it is.

    Args:
        folder: the deployment's folder.
        digest: accept only when the files have this digest.

    Raises:
        UsageError: the files have another digest.
        DeploymentError: the files cannot be read, or name a workspace that cannot be used.
    """
    files = _usable_files(folder)
    if digest is not None and digest.strip() != files.digest:
        raise UsageError(f"the files have the digest {files.digest}, not the one that was given")
    return accept(files, open_state(files.folder))


def _usable_files(folder: str | Path) -> DeploymentFiles:
    """Read what is to be accepted: a workspace that every later command refuses is refused here."""
    files = read_files(folder)
    workspace_of(files.folder, files.config.config.workspace)
    return files


@dataclass(frozen=True, kw_only=True)
class TrustProposal:
    """What a person sees before accepting a deployment.

    Attributes:
        folder: the deployment's folder.
        standing: whether it is accepted already.
        lines: what it may do, in plain words.
    """

    folder: Path
    standing: Standing
    lines: tuple[str, ...]

    def apply(self) -> Acceptance:
        """Accept exactly what was shown.

        Raises:
            UsageError: the files changed meanwhile.
        """
        return trust(self.folder, digest=self.standing.digest)


def propose_trust(folder: str | Path) -> TrustProposal:
    """Say what accepting the deployment in `folder` would allow.

    Raises:
        DeploymentError: as `trust`.
    """
    files = _usable_files(folder)
    found = standing(files, find_state(files.folder))
    return TrustProposal(folder=files.folder, standing=found, lines=tuple(_shown(files, found)))


def _shown(files: DeploymentFiles, found: Standing) -> list[str]:
    return [*(f"changed: {line}" for line in found.changes.lines()), *summary(files)]


def _since(acceptance: Acceptance | None, files: DeploymentFiles) -> Changes | None:
    if acceptance is None:
        return None
    try:
        old = parse_config(acceptance.config, files.config.path)
        old_lock = lock_from(acceptance.lock.encode(), files.folder)
    except RemitError:
        return None
    return compare(old, old_lock, files.config.config, files.lock)
