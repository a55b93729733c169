"""`remit doctor`: what this machine can enforce, found out by trying."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import add_json
from remit.cli.waiting import waiting

if TYPE_CHECKING:
    from remit_sandbox.probe import Probe
    from remit_sandbox.values import Enforced


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit doctor --json
  remit doctor --escape

Every right was tried in a throwaway process, with a control that must succeed.
--escape makes the quick part of Remit's own attempts to get out of a cell, on this machine.
That takes one to two minutes; rows come in parts, as each attempt is made in
cells of every kind before it is judged, and standard error says how far it is.
exit codes: 0 everything that `enforcement = "kernel"` needs is there, 1 something is missing or got out
"""
    add_json(parser)
    parser.add_argument("--escape", action="store_true", help="try to get out of a cell in every way that is quick")
    parser.set_defaults(action=doctor)


def doctor(options: argparse.Namespace) -> int:
    """Probe, print, and return 1 when this machine cannot confine."""
    if options.escape:
        from remit.cli.escaping import try_to_escape

        return try_to_escape(as_json=options.json)
    from remit_sandbox.confine.landlock import weaker
    from remit_sandbox.probe import SUCCEEDED, probe
    from remit_sandbox.rehearsal import with_rehearsal

    with waiting("trying what this machine can enforce"):
        found = probe()
        rows = list(with_rehearsal(found.rows))
    missing = [*found.missing, *(f"{row.right}: {row.detail}" for row in rows if row.detail.startswith(SUCCEEDED))]
    if options.json:
        _say_json(found, rows, missing)
        return 1 if missing else 0
    screen.say(screen.table(("right", "enforced by", "how"), [(row.right, row.by, row.detail) for row in rows]))
    for line in weaker(found.landlock_abi):
        screen.say(f"note: {line}")
    if not missing:
        screen.say(f"\nThis machine can confine skills (Landlock ABI {found.landlock_abi}).")
        return 0
    _say_missing(missing)
    return 1


def _say_json(found: Probe, rows: Sequence[Enforced], missing: Sequence[str]) -> None:
    from remit_sandbox.confine.landlock import weaker

    screen.say_json(
        {
            "rows": [asdict(row) for row in rows],
            "missing": list(dict.fromkeys(missing)),
            "landlock_abi": found.landlock_abi,
            "weaker": list(weaker(found.landlock_abi)),
            "machine": _machine(),
        }
    )


def _say_missing(missing: Sequence[str]) -> None:
    screen.say("\nThis machine cannot confine skills:")
    for reason in dict.fromkeys(missing):
        screen.say(f"  {reason}")
    about = _machine()
    inside = f", in a container ({about['container']})" if about["container"] else ""
    screen.say(f"  on {about['system']} {about['kernel']}, {about['architecture']}{inside}")
    screen.say('With enforcement = "available" under [defaults] skills run all the same, without what is missing.')


def _machine() -> dict[str, str]:
    """What whoever is to mend it has to know."""
    import platform

    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "container": _container(),
    }


def _container() -> str:
    """The kind of container that this seems to run in; empty for none that is known."""
    import os
    from pathlib import Path

    marks = {"/.dockerenv": "docker", "/run/.containerenv": "podman", "/var/run/secrets/kubernetes.io": "kubernetes"}
    found = next((name for path, name in marks.items() if Path(path).exists()), "")
    return found or os.environ.get("container", "")  # noqa: SIM112 (systemd spells it so)
