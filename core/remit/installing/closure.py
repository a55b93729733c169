"""Judges everything that would be installed together, before any of it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from remit.errors import PackError
from remit.installing.environment import Environment, Installed
from remit.installing.fetch import Fetched
from remit.packs.folding import fold
from remit.packs.sites import Site, read_sites, site_paths
from remit.packs.wheel import WheelFacts, read_wheel

EXTENSIONS = "remit.extensions"
"""Entry-point group of extensions."""

SCRIPTS = ("console_scripts", "gui_scripts")
"""Entry-point groups of commands."""

_OUT = "../../../"
_SETTINGS = ("pip.conf", "pip.ini", "pyvenv.cfg")
"""Files at the root of an environment that pip and Python read."""
_LOADED = {
    "pydantic": "every program that uses pydantic imports it (the remit command does not)",
    "pytest11": "pytest imports it in every project of this environment",
    EXTENSIONS: "trusted host code, once a deployment names it under [extensions]",
    "remit.packs": "a pack of its own, which stays off until it is enabled",
}


@dataclass(frozen=True, kw_only=True)
class Closure:
    """Wheels that can be installed together; nothing speaks against any of them.

    Attributes:
        wheels: those of packs that were asked for first, then what they need, by name.
        requested: folded distribution names that a person asked for.
        replaced: folded name to the version that is installed now and would go.
        notes: what to know before saying yes.
    """

    wheels: tuple[WheelFacts, ...]
    requested: frozenset[str]
    replaced: Mapping[str, Installed]
    notes: tuple[str, ...]

    @property
    def packs(self) -> tuple[WheelFacts, ...]:
        """The packs that a person asked for."""
        return tuple(wheel for wheel in self.wheels if wheel.pack and fold(wheel.distribution) in self.requested)

    @property
    def pins(self) -> dict[str, str]:
        """`name==version` to SHA-256, for pip."""
        return {f"{wheel.distribution}=={wheel.version}": wheel.sha256 for wheel in self.wheels}

    @property
    def hashes(self) -> dict[str, str]:
        """File name to `sha256:...`, for the lock."""
        return {wheel.path.name: f"sha256:{wheel.sha256}" for wheel in self.wheels}


def inspect(
    environment: Environment,
    fetched: Sequence[Fetched],
    *,
    change: Sequence[str] = (),
    extensions: Sequence[str] = (),
) -> Closure:
    """Look into every wheel and judge the whole.

    Args:
        environment: into which they would go.
        fetched: the wheels.
        change: names of installed distributions that may be replaced although nobody asked for them.
        extensions: names of distributions that are asked for as extensions, not as packs.

    Raises:
        PackError: what speaks against it, a line each.
    """
    installed = environment.installed()
    facts = {one.path: read_wheel(one.path) for one in fetched}
    requested = frozenset(fold(facts[one.path].distribution) for one in fetched if one.requested)
    wheels = sorted(facts.values(), key=lambda wheel: (fold(wheel.distribution) not in requested, wheel.distribution))
    names = [fold(wheel.distribution) for wheel in wheels]
    replaced = {name: installed[name] for name in names if name in installed}
    may_change, hosted = ({fold(name) for name in names_} for names_ in (change, extensions))
    judge = _Judge(environment, installed, wheels, requested, replaced, may_change, hosted)
    problems = list(dict.fromkeys(judge.problems()))
    if problems:
        lines = "\n".join(f"  {line}" for line in problems[:12])
        raise PackError(f"nothing was installed:\n{lines}", remedy=judge.remedy)
    notes = [*judge.notes(), *(_yanked(facts[one.path]) for one in fetched if one.yanked)]
    return Closure(wheels=tuple(wheels), requested=requested, replaced=replaced, notes=tuple(notes))


def _yanked(wheel: WheelFacts) -> str:
    return f"{wheel.distribution} {wheel.version} was withdrawn (yanked) by its publisher"


@dataclass
class _Judge:
    environment: Environment
    installed: Mapping[str, Installed]
    wheels: Sequence[WheelFacts]
    requested: frozenset[str]
    replaced: Mapping[str, Installed]
    change: set[str]
    extensions: set[str]
    remedy: str = ""

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """The folders of the environment that something is installed into."""
        return tuple(site for site in read_sites(site_paths(self.environment.paths)) if site.infos)

    def problems(self) -> Iterator[str]:
        """Yield what speaks against it, a line each."""
        for wheel in self.wheels:
            yield from self._alone(wheel)
        yield from self._places()
        yield from self._replacements()
        yield from self._broken()

    def notes(self) -> Iterator[str]:
        """Yield what to know."""
        for wheel in self.wheels:
            name = f"{wheel.distribution} {wheel.version}"
            yield from (f"{name}: {note}" for note in wheel.notes if not self._sharper(note, wheel))
            groups = [group for group in _LOADED if group in wheel.groups and not self._wanted(wheel, group)]
            yield from (f"{name}: it has an entry point of group {group}: {_LOADED[group]}" for group in groups)
            if hidden := _hidden_programs(wheel, self.environment):
                yield f"{name}: its commands {', '.join(hidden)} would come before programs of this system"

    def _wanted(self, wheel: WheelFacts, group: str) -> bool:
        """Whether the group is the very reason why a person asked for this wheel."""
        name = fold(wheel.distribution)
        return name in self.requested and (bool(wheel.pack) or (group == EXTENSIONS and name in self.extensions))

    def _sharper(self, note: str, wheel: WheelFacts) -> bool:
        return any(f"of group {group}," in note for group in _LOADED if group in wheel.groups)

    def _alone(self, wheel: WheelFacts) -> Iterator[str]:
        name = f"{wheel.distribution} {wheel.version}"
        for problem in wheel.problems:
            self.remedy = self.remedy or problem.remedy
            yield f"{name}: {problem.reason}"
        if fold(wheel.distribution) in self.extensions:
            if EXTENSIONS not in wheel.groups:
                yield f"{name} is no extension: it has no entry point of group remit.extensions"
        elif fold(wheel.distribution) in self.requested and not wheel.is_pack:
            what, remedy = "a library", f"pip install {wheel.distribution}, if you trust it"
            if EXTENSIONS in wheel.groups:
                what, remedy = "an extension", f"remit extensions add {wheel.distribution}"
            self.remedy = self.remedy or remedy
            yield f"{name} is {what}, not a pack: it has no entry point of group remit.packs"

    def _places(self) -> Iterator[str]:
        """Yield files that would land on others, or behind everybody's back in the site folder."""
        taken: dict[str, str] = {}
        for wheel in self.wheels:
            name = f"{wheel.distribution} {wheel.version}"
            own = self.replaced.get(fold(wheel.distribution))
            mine = set(own.files) if own else set()
            for path in targets(wheel, self.environment):
                shown = os.path.relpath(path, self.environment.prefix)[:120]
                if path in taken:
                    yield f"{name} and {taken[path]} would both install {shown!a}"
                elif path not in mine and os.path.lexists(path):
                    owner = self.environment.owner(path, self.installed) or "no distribution"
                    yield f"{name} would replace {shown!a}, which belongs to {owner}"
                taken[path] = name
            yield from _back_doors(wheel, name)
            yield from self._hidden(wheel, mine, name)

    def _hidden(self, wheel: WheelFacts, mine: set[str], name: str) -> Iterator[str]:
        """Yield packages and modules of others that this one would hide, or put files of its own into."""
        tops = {file.target.partition("/")[0] for file in wheel.files.values() if not file.target.startswith(_OUT)}
        for module in sorted({top.partition(".")[0] for top in tops if not top.endswith(".dist-info")}):
            for path in filter(None, (site.provides(module) for site in self.sites)):
                if path not in mine:
                    owner = self.environment.owner(path, self.installed) or "no distribution"
                    yield f"{name} brings {module[:80]!a}, a package or module that is installed already (by {owner})"

    def _replacements(self) -> Iterator[str]:
        for wheel in self.wheels:
            name = fold(wheel.distribution)
            old = self.replaced.get(name)
            if old is None or name in self.requested or name in self.change or old.version == wheel.version:
                continue
            reasons = self._wanted_by(name)
            who = f" ({'; '.join(reasons)})" if reasons else ""
            self.remedy = self.remedy or f"if that is what you want: --change {wheel.distribution}"
            yield f"{wheel.distribution} would go from {old.version} to {wheel.version}{who}"

    def _wanted_by(self, name: str) -> list[str]:
        wanted = [(wheel.distribution, one) for wheel in self.wheels for one in wheel.requires]
        return [f"{who} requires {one}" for who, one in wanted if _requirement(one)[0] == name]

    def _broken(self) -> Iterator[str]:
        """Yield installed distributions that a replacement would break, Remit itself among them."""
        new = {fold(wheel.distribution): wheel for wheel in self.wheels if fold(wheel.distribution) in self.replaced}
        for name, one in self.installed.items() if new else ():
            if name in {fold(wheel.distribution) for wheel in self.wheels}:
                continue
            for line in one.requires:
                wanted, allows = _requirement(line)
                if wanted in new and not allows(new[wanted].version):
                    wheel = new[wanted]
                    causes = "".join(f"; {cause}" for cause in self._wanted_by(wanted))
                    yield f"{one.shown} {one.version} requires {line}, and would get {wheel.version}{causes}"


def _requirement(text: str) -> tuple[str, _Allows]:
    """Return the folded name that a requirement is about, empty when it does not hold here, and its test."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            return "", _Allows("")
        return fold(requirement.name), _Allows(str(requirement.specifier))
    except (InvalidRequirement, ValueError):
        return "", _Allows("")


@dataclass(frozen=True)
class _Allows:
    """Whether a version specifier allows a version."""

    specifier: str

    def __call__(self, version: str) -> bool:
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(self.specifier).contains(version, prereleases=True)


def requirement_names(lines: Sequence[str]) -> list[str]:
    """Return the folded names of the requirements that hold here."""
    return [name for name, _ in map(_requirement, lines) if name]


def targets(wheel: WheelFacts, environment: Environment) -> Iterator[str]:
    """Yield the absolute path of everything that pip would put into the environment for a wheel."""
    for file in wheel.files.values():
        yield str(_place(file.target, environment))
    for group in SCRIPTS:
        yield from (str(environment.scripts / command) for command in wheel.groups.get(group, {}))


def _place(target: str, environment: Environment) -> Path:
    if target.startswith(f"{_OUT}bin/"):
        return environment.scripts / target.removeprefix(f"{_OUT}bin/")
    below = environment.prefix / target.removeprefix(_OUT)
    return Path(os.path.normpath(below if target.startswith(_OUT) else environment.site / target))


def _hidden_programs(wheel: WheelFacts, environment: Environment) -> list[str]:
    """Return commands of a wheel that have the name of a program outside the environment."""
    folders = [one for one in os.get_exec_path() if os.path.realpath(one) != os.path.realpath(environment.scripts)]
    found = [command for group in SCRIPTS for command in wheel.groups.get(group, {})]
    return sorted(command for command in found if shutil.which(command, path=os.pathsep.join(folders)))


def _back_doors(wheel: WheelFacts, name: str) -> Iterator[str]:
    """A `.data/data` folder is laid over the whole environment, its site folder among it."""
    for file in wheel.files.values():
        if not file.target.startswith(_OUT):
            continue
        parts = [part.lower() for part in file.target.removeprefix(_OUT).split("/")]
        if len(parts) == 1 and parts[0] in _SETTINGS:
            yield f"{name}: it would install {file.name[:120]!a}, which pip or Python itself reads"
        in_library = parts[0] in ("lib", "lib64", "lib32") and len(parts) > 1 and parts[1].startswith("python")
        if in_library or "site-packages" in parts or parts[-1].endswith((".pth", ".start")):
            yield f"{name}: it would put {file.name[:120]!a} into Python's own folders by way of its data files"
