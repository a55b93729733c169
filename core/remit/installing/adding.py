"""`remit packs add`: fetch, inspect, show, and only then install, lock and enable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from remit.deployment.edit import planned_files
from remit.deployment.enable import enable
from remit.deployment.files import DeploymentFiles
from remit.deployment.proposal import Proposal
from remit.errors import PackError, UsageError
from remit.installing import store, undo
from remit.installing.closure import EXTENSIONS, Closure, inspect
from remit.installing.environment import Environment, same
from remit.installing.fetch import Fetched, checked_wishes, fetch, name_of
from remit.installing.lookalike import FIRST_PARTY, lookalike, plain_letters, strange_letters
from remit.installing.pinning import Wheels, pins_of, wheels_there
from remit.installing.place import Place, apply_all, kept, with_wheels
from remit.installing.staging import unpack
from remit.packs.folding import fold
from remit.state_folder import open_state

if TYPE_CHECKING:
    from remit_sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class Addition:
    """Wheels that were inspected and what they would mean for the deployment, ready to be read and applied.

    Attributes:
        place: the deployment and the environment.
        files: of the deployment, as they were read.
        closure: what would be installed.
        wheels: the folder that the wheels lie in, for as long as this is being looked at.
        site: the folder that they were unpacked into, for just as long.
        names: the packs that would be enabled.
        there: wheels of what they need and is installed already.
        sandbox: describes them.
        proposals: to enable each pack, one after the other.
    """

    place: Place
    files: DeploymentFiles
    closure: Closure
    wheels: Path
    site: Path
    names: tuple[str, ...]
    there: Wheels
    sandbox: Sandbox
    proposals: tuple[Proposal, ...] = ()

    def with_wish(self, wish: Wish) -> Addition:
        """Return the same wheels with another wish for their packs."""
        return replace(self, proposals=tuple(_proposals(self, wish)))

    @property
    def lines(self) -> tuple[str, ...]:
        """What would be installed, and what the packs may do, in plain words."""
        return (*self.closure_lines, *(line for proposal in self.proposals for line in proposal.lines))

    @property
    def closure_lines(self) -> tuple[str, ...]:
        """What would be installed, in plain words."""
        return tuple(closure_lines(self.closure))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before saying yes."""
        return (*self.closure.notes, *(line for proposal in self.proposals for line in proposal.warnings))

    def apply(self) -> None:
        """Install exactly what was inspected, check it, lock and enable.

        Raises:
            RunError, DeploymentError: something failed, and everything was put back.
        """
        before = {proposal.pack: kept(self.files, proposal.pack) for proposal in self.proposals}
        store.keep_wheels(wheel.path for wheel in self.closure.wheels)
        planned = [planned_files(self.files, proposal.text, proposal.lock) for proposal in self.proposals]
        state = open_state(self.files.folder)
        with undo.installed(self.place.environment, self.closure, self.wheels, files=self.files, planned=planned):
            for proposal in self.proposals:
                locked = proposal.lock.packs[proposal.pack]
                if not locked.editable:
                    self.place.check_installed(proposal.pack, locked)
            apply_all(self.files, self.proposals)
            for proposal in self.proposals:
                was, now = before[proposal.pack], proposal.lock.packs[proposal.pack]
                if was is not None and was.version != now.version:
                    store.remember_former(state, proposal.pack, was)
        for proposal in self.proposals:
            store.forget_former(state, proposal.pack, proposal.lock.packs[proposal.pack].version)
        store.prune(pack.wheels for pack in self.proposals[-1].lock.packs.values())


def closure_lines(closure: Closure) -> Iterator[str]:
    """Yield what would be installed, in plain words."""
    for wheel in closure.wheels:
        asked = fold(wheel.distribution) in closure.requested
        host = "an extension" if asked and EXTENSIONS in wheel.groups else "a library"
        what = f"pack {wheel.pack}" if wheel.pack else host
        old = closure.replaced.get(fold(wheel.distribution))
        instead = f", instead of {old.version}" if old else ""
        need = "" if asked else ", which it needs"
        size = f"{max(wheel.size // 1024, 1)} KiB, sha256 {wheel.sha256[:16]}"
        yield f"to install: {wheel.distribution} {wheel.version} ({what}{need}{instead}; {size})"


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a person wants to be added.

    Attributes:
        wanted: `NAME`, `NAME==VERSION` or paths of wheels.
        change: installed distributions that may change although nobody named them.
        wishes: skills, grants, settings, secrets: keyword arguments of `deployment.enable`.
    """

    wanted: Sequence[str]
    change: Sequence[str] = ()
    wishes: Mapping[str, Any] = field(default_factory=dict)


def check_names(wanted: Iterable[str], place: Place, *, sure: bool = False) -> list[str]:
    """Return a warning for each name that looks like another one; nothing is fetched.

    Args:
        wanted: as in `Wish`.
        place: its installed and locked distributions are the known names.
        sure: a person said that the names are right.

    Raises:
        UsageError: a name has letters that no index has.
    """
    locked = [pack.distribution for pack in place.files().lock.packs.values()]
    known = [*FIRST_PARTY, *(one.shown for one in place.environment.installed().values()), *locked]
    warnings: list[str] = []
    for one in wanted:
        name = Path(one).name.partition("-")[0] if one.endswith(".whl") else one
        _check_letters(name)
        alike = None if sure else lookalike(name_of(checked_wishes([one])[0]), known)
        if alike:
            warnings.append(f"{name} looks like {alike[0]}, a name that is known here: {alike[1]}")
    return warnings


def _check_letters(name: str) -> None:
    strange = strange_letters(name)
    if strange:
        raise UsageError(
            f"{name!a} has letters that no distribution's name has: {strange}",
            remedy=f"did you mean {plain_letters(name)}? type it yourself, do not copy it",
        )


@contextmanager
def adding(place: Place, wish: Wish, *, sandbox: Sandbox | None = None) -> Iterator[Addition]:
    """Fetch and inspect what is wanted, and propose to install and enable it; nothing is installed yet.

    Raises:
        NotTrusted: nobody has accepted the deployment.
        PackError: there is no wheel, something speaks against one of them, or a pack cannot be enabled.
        UsageError: something is no name and no wheel.
    """
    files = place.files()
    wanted = checked_wishes(wish.wanted)
    with TemporaryDirectory(prefix="remit-") as folder:
        wheels = Path(folder, "wheels")
        wheels.mkdir()
        fetched = fetch(place.environment, wanted, wheels)
        with proposed(place, files, wanted, fetched, wish, wheels, sandbox=sandbox) as addition:
            yield addition


@contextmanager
def proposed(
    place: Place,
    files: DeploymentFiles,
    wanted: Sequence[str],
    fetched: Sequence[Fetched],
    wish: Wish,
    wheels: Path,
    *,
    sandbox: Sandbox | None = None,
) -> Iterator[Addition]:
    """Inspect wheels that were fetched, and propose to install and enable their packs; see `adding`."""
    from remit_sandbox import Sandbox

    closure = inspect(place.environment, fetched, change=wish.change)
    cells = nullcontext(sandbox) if sandbox is not None else Sandbox()
    with TemporaryDirectory(prefix="remit-") as folder, cells as used:
        site = Path(folder, "site-packages")
        site.mkdir()
        unpack(closure, site)
        names = [*(wheel.pack for wheel in closure.packs), *_there_already(place.environment, wanted, closure)]
        found = Addition(
            place=place,
            files=files,
            closure=closure,
            wheels=wheels,
            site=site,
            names=tuple(dict.fromkeys(names)),
            there=wheels_there(place.environment, files, closure),
            sandbox=used,
        )
        yield found.with_wish(wish)


def _there_already(environment: Environment, wanted: Sequence[str], closure: Closure) -> Iterator[str]:
    """Yield packs whose distribution was asked for and is installed as it was asked for."""
    new = {fold(wheel.distribution) for wheel in closure.wheels}
    inventory = environment.inventory()
    for name in (name for name in map(name_of, wanted) if name not in new):
        pack = next((pack for pack in inventory.packs.values() if same(pack.distribution, name)), None)
        if pack is None:
            problem = next((one for one in inventory.problems if same(one.distribution, name)), None)
            if problem is not None:
                raise PackError(f"{name} is installed already: {problem.reason}", remedy=problem.remedy)
            raise PackError(f"{name} is installed already, and is no pack")
        yield pack.name


def _proposals(addition: Addition, wish: Wish) -> list[Proposal]:
    place, proposals = addition.place, list[Proposal]()
    installed = place.environment.installed()
    for name in addition.names:
        proposal = enable(
            addition.files.folder,
            name,
            paths=place.environment.import_order(str(addition.site)),
            sandbox=addition.sandbox,
            managed=place.managed,
            following=proposals[-1] if proposals else None,
            **wish.wishes,
        )
        proposals.append(with_wheels(proposal, pins_of(name, addition.closure, installed, addition.there)))
    return proposals
