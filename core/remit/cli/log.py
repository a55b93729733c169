"""`remit log`: what happened, and the proof of it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from remit.errors import NotTrusted

if TYPE_CHECKING:
    from remit.state.store import State


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command; each action lives in a file of its own."""
    from remit.cli import log_evidence, log_export, log_keep, log_list, log_replay, log_show, log_stats

    parser.epilog = """\
examples:
  remit log list --since 2h --verdict deny
  remit log tail --follow
  remit log replay 1f3a
  remit log stats --since yesterday
  remit log export audit.jsonl --since 2026-11-01 --until 2026-11-30
"""
    actions = parser.add_subparsers(dest="log_action", metavar="action", required=True)
    for topic in (log_list, log_show, log_replay, log_stats, log_export, log_keep, log_evidence):
        topic.configure(actions)


def opened_state(folder: str) -> State:
    """Return the state of the deployment in `folder`; it can be read after the files are gone.

    Raises:
        DeploymentError: there is neither a state nor a deployment, or nobody has used it yet.
    """
    from remit.deployment.files import read_files, real_folder
    from remit.state.store import State
    from remit.state_folder import find_state

    place = find_state(real_folder(folder))
    if place is None:
        read_files(folder)
        raise NotTrusted(f"nothing has happened in {folder} yet", remedy="read remit.toml, then run `remit trust`")
    return State(place.path)
