"""Derives the schemas of a pack for a deployment, with what can go wrong said as errors of Remit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from remit.errors import EnforcementError, RunError
from remit.packs.describe import SkillDescription, describe_pack
from remit.packs.installed import InstalledPack
from remit.packs.manifest import Manifest, Setting
from remit_sandbox.errors import CannotConfine, SupervisorError
from remit_sandbox.values import Enforcement

if TYPE_CHECKING:
    from remit_sandbox import Sandbox


def derive(
    installed: InstalledPack,
    manifest: Manifest,
    sandbox: Sandbox,
    *,
    paths: Sequence[str],
    settings: Mapping[str, Setting],
    enforcement: Enforcement,
) -> dict[str, SkillDescription]:
    """Describe every skill of a pack in a cell that has no right at all.

    Raises:
        PackError: the pack cannot be imported; its own lines are in `traceback`.
        EnforcementError: this machine cannot confine, and the deployment demands it.
        RunError: the cells' supervisor cannot be started.
    """
    try:
        return describe_pack(installed, manifest, sandbox, paths=paths, settings=settings, enforcement=enforcement)
    except CannotConfine as error:
        raise EnforcementError(
            str(error), remedy='with [defaults] enforcement = "available" it runs, and says what is not enforced'
        ) from error
    except SupervisorError as error:
        raise RunError(f"no cell can be started: {error}", remedy="run `remit doctor`") from error
