"""`remit extensions add`: host code comes the way that packs do, inspected before anything of it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from remit.deployment.edit import planned_files
from remit.deployment.extending import ExtensionProposal, enable_extension
from remit.deployment.files import DeploymentFiles
from remit.deployment.layers import canonical
from remit.errors import UsageError
from remit.installing import undo
from remit.installing.adding import closure_lines
from remit.installing.closure import EXTENSIONS, Closure, inspect
from remit.installing.environment import Environment
from remit.installing.fetch import Fetched, checked_wishes, fetch, name_of
from remit.installing.pinning import wheels_of, wheels_there
from remit.installing.place import Place, apply_all
from remit.installing.staging import unpack
from remit.installing.sync_extensions import check_extension
from remit.packs.folding import fold


@dataclass(frozen=True, kw_only=True)
class ExtensionAddition:
    """Wheels of extensions that were inspected, ready to be read and applied.

    Attributes:
        place: the deployment and the environment.
        files: of the deployment, as they were read.
        closure: what would be installed.
        wheels: the folder that the wheels lie in, for as long as this is being looked at.
        proposals: to enable each extension, one after the other.
    """

    place: Place
    files: DeploymentFiles
    closure: Closure
    wheels: Path
    proposals: tuple[ExtensionProposal, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The extensions that would be enabled."""
        return tuple(proposal.extension for proposal in self.proposals)

    @property
    def lines(self) -> tuple[str, ...]:
        """What would be installed, and what it may do then, in plain words."""
        return (*closure_lines(self.closure), *(line for proposal in self.proposals for line in proposal.lines))

    def apply(self) -> None:
        """Install exactly what was inspected, check it, lock and enable. Nothing of it is imported.

        Raises:
            RunError, DeploymentError: something failed, and everything was put back.
        """
        environment = self.place.environment
        planned = [planned_files(self.files, proposal.text, proposal.lock) for proposal in self.proposals]
        with undo.installed(environment, self.closure, self.wheels, files=self.files, planned=planned):
            for proposal in self.proposals:
                check_extension(environment, proposal.extension, proposal.lock.extensions[proposal.extension])
            apply_all(self.files, self.proposals)


@contextmanager
def adding_extensions(
    place: Place,
    wanted: Sequence[str],
    *,
    change: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    required: bool | None = None,
) -> Iterator[ExtensionAddition]:
    """Fetch and inspect extensions and all they need, and propose to install and enable them.

    Args:
        place: the deployment and the environment.
        wanted: `NAME`, `NAME==VERSION` or paths of wheels.
        change: installed distributions that may change although nobody named them.
        settings: values for `[extensions.settings.NAME]`, where one extension is wanted.
        required: nothing starts without them; None leaves that as it is.

    Raises:
        NotTrusted: nobody has accepted the deployment.
        PackError: there is no wheel, or something speaks against one of them.
        UsageError: something is no name, no wheel, or no extension that can be used.
    """
    files = place.files()
    wishes = checked_wishes(wanted)
    with TemporaryDirectory(prefix="remit-") as folder:
        wheels, site = Path(folder, "wheels"), Path(folder, "site-packages")
        wheels.mkdir()
        site.mkdir()
        fetched = _fetched(place.environment, wishes, wheels)
        closure = inspect(place.environment, fetched, change=change, extensions=list(map(name_of, wishes)))
        unpack(closure, site)
        pins = _pins(place.environment, files, closure)
        if settings and len(pins) > 1:
            raise UsageError(f"--set is for one extension, and these are {', '.join(pins)}")
        proposals: list[ExtensionProposal] = []
        for name, its in pins.items():
            proposals.append(
                enable_extension(
                    files.folder,
                    name,
                    settings=settings,
                    required=required,
                    paths=place.environment.import_order(str(site)),
                    managed=place.managed,
                    wheels=its,
                    following=proposals[-1] if proposals else None,
                )
            )
        yield ExtensionAddition(place=place, files=files, closure=closure, wheels=wheels, proposals=tuple(proposals))


def _fetched(environment: Environment, wishes: Sequence[str], folder: Path) -> list[Fetched]:
    """Fetch what is wanted; what is installed as it is wanted is fetched again, since nobody has looked into it."""
    found = fetch(environment, wishes, folder)
    here = {fold(one.path.name.partition("-")[0]) for one in found}
    left = [wish for wish in wishes if name_of(wish) not in here]
    installed = environment.installed()
    exact = [wish if wish.endswith(".whl") else _exact(installed[name_of(wish)].version, wish) for wish in left]
    return [*found, *(fetch(environment, exact, folder, again=True) if exact else ())]


def _exact(version: str, wish: str) -> str:
    return f"{name_of(wish)}=={version}"


def _pins(environment: Environment, files: DeploymentFiles, closure: Closure) -> dict[str, dict[str, str]]:
    """Return each extension of the wheels that were asked for, and the wheels that it is made of."""
    there, installed = wheels_there(environment, files, closure), environment.installed()
    return {
        canonical(name): wheels_of(wheel.distribution, closure, installed, there)
        for wheel in closure.wheels
        if fold(wheel.distribution) in closure.requested
        for name in wheel.groups[EXTENSIONS]
    }
