"""Opens a pack for a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from remit.deployment.try_pack import try_pack
from remit.errors import UsageError
from remit.packs.discovery import discover
from remit.packs.installed import InstalledPack
from remit.testing.network import Place, only_to
from remit.testing.tried import TriedPack
from remit.values import ReadOnly
from remit_sandbox.values import Enforcement

if TYPE_CHECKING:
    from remit_sandbox import Sandbox
    from remit_sandbox.broker import NetworkEvent
    from remit_sandbox.signoff import SignoffRequest


@contextmanager
def pack(
    source: str | Path | InstalledPack = ".",
    *,
    settings: Mapping[str, Any] | None = None,
    secrets: Mapping[str, str] | None = None,
    grants: Mapping[str, Sequence[str]] | None = None,
    net: Mapping[str, Place] | Literal["real"] | None = None,
    workspace: str | Path | None = None,
    cells: bool = True,
    enforcement: Enforcement | None = None,
    approve: bool | Callable[[SignoffRequest], bool] = False,
    read_only: ReadOnly = False,
    paths: Sequence[str] | None = None,
) -> Iterator[TriedPack]:
    """Open a pack with all that its manifest asks for, in a deployment that is gone afterwards.

    Args:
        source: the folder of the pack's project; or, for a pack that is installed, its name.
        settings: values for the pack's settings.
        secrets: logical name to value; those that are not given come from the environment (`token` from `TOKEN`).
        grants: permission key (`fs.read`, `net`, ...) to what is given, where that is less than the manifest asks for.
        net: `host:port` as the pack asks for it, to the server of the test that stands in for it. Nothing else is
            reached, except this machine itself where a grant names it. `"real"` is the real network.
        workspace: an existing folder for `${workspace}`, which stays; None for an empty temporary one.
        cells: run the handlers in cells, as a deployment does. `False` imports the pack into *this process*, so that
            a debugger stops in it and coverage counts it: nothing is confined then, no time limit holds, and `net`
            cannot be given. Only for packs of your own.
        enforcement: None for `kernel` where this machine can, else `available`.
        approve: what a person says to a call that needs sign-off; a function decides from the request.
        read_only: the mode.
        paths: site folders in which an installed pack is looked for; None for this interpreter's own.

    Raises:
        PackError, ManifestError: the pack cannot be used.
        UsageError: a setting that it does not have, or `net` without cells.
    """
    if not cells and net:
        raise UsageError("net needs cells: without them a handler opens sockets of its own")
    seen: list[NetworkEvent] = []
    found = located(source, paths)
    sandbox = _sandbox(net or {}, seen)
    try:
        deployment = try_pack(
            found,
            settings=settings,
            enforcement=enforcement,
            read_only=read_only,
            paths=paths,
            workspace=workspace,
            private_net=True,
            grants=grants,
            secrets=secrets,
            sandbox=sandbox,
        )
    except BaseException:
        sandbox.close()
        raise
    with deployment:
        runs_in = sandbox if cells else _this_process(deployment.inventory.packs)
        try:
            tried = TriedPack(deployment, sandbox=runs_in, network=seen, approve=approve, source=found)
            try:
                yield tried
            finally:
                tried.close()
        finally:
            if runs_in is not sandbox:
                runs_in.close()


def located(source: str | Path | InstalledPack, paths: Sequence[str] | None = None) -> Path | InstalledPack:
    """Return the folder of a project, or the installed pack that `source` names.

    Raises:
        PackError: nothing has that name.
    """
    if isinstance(source, InstalledPack | Path):
        return source
    return Path(source) if Path(source).is_dir() else discover(paths).get(source)


def _sandbox(net: Mapping[str, Place] | Literal["real"], seen: list[NetworkEvent]) -> Sandbox:
    from remit_sandbox import Sandbox

    return Sandbox(on_network=seen.append, connect=None if net == "real" else only_to(net))


def _this_process(packs: Mapping[str, InstalledPack]) -> Sandbox:
    from remit.testing.in_process import InProcess

    (installed,) = packs.values()
    return cast("Sandbox", InProcess(installed))
