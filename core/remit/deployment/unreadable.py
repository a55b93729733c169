"""A deployment's files that cannot be read any more: what was loaded stays in force, and the log says so."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from remit.account import account
from remit.deployment.files import DeploymentFiles, read_files, real_folder
from remit.errors import DeploymentError, LockError, StateError
from remit.state_folder import find_state


def read_or_record(folder: str | Path) -> DeploymentFiles:
    """Read the files of a deployment; where they are broken, record that in the state of one that was in use.

    Raises:
        DeploymentError, LockError: as `read_files`.
    """
    try:
        return read_files(folder)
    except (DeploymentError, LockError) as error:
        with suppress(DeploymentError, StateError):
            _record(real_folder(folder), error.message)
        raise


def _record(folder: Path, message: str) -> None:
    from remit.state.store import State

    state = find_state(folder)
    if state is not None and (state.path / "state.db").exists():
        with State(state.path) as log:
            log.append("policy.unreadable", session="", body={"by": account()}, sealed={"error": message})
