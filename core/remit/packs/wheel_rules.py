"""What speaks against installing a wheel: the rules for packs, and those that hold for their libraries, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from remit.errors import ManifestError
from remit.packs.contents import entry_point, own_files
from remit.packs.distribution import Refused
from remit.packs.host_modules import strange_host_modules
from remit.packs.installed import PackProblem
from remit.packs.manifest import AUTHORS_TURN, Manifest, parse_manifest
from remit.packs.wheel_facts import WheelFacts

_STARTUP = ("sitecustomize", "usercustomize")
_OURS = ("remit", "remit_sandbox")
_METADATA = (".dist-info", ".egg-info", ".egg-link", ".egg")
_COMMAND = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}", re.ASCII)
_COMPILED = (".so", ".pyd", ".dylib", ".dll")
_PROGRAMS = ("python", "pip", "remit")
_THEIR_OWN = ("pip", "remit")
_REMEDY = "do not install it"


def judged(facts: WheelFacts, read: Callable[[str], bytes]) -> WheelFacts:
    """Return the facts with pack, manifest, problems and notes.

    Args:
        facts: what the wheel is.
        read: returns the bytes of a file of the wheel; PackError when it is larger than a manifest.
    """
    problems = [*_strangers(facts), *_requirements(facts)]
    if not facts.is_pack:
        found = (PackProblem(pack="", distribution=facts.distribution, reason=one, remedy=_REMEDY) for one in problems)
        return replace(facts, problems=tuple(found), notes=tuple(_notes(facts)))
    try:
        name, package = entry_point(facts.groups)
    except Refused as refused:
        return replace(facts, problems=(_problem(facts, refused),), notes=tuple(_notes(facts)))
    known = replace(facts, pack=name, package=package, notes=tuple(_notes(facts)))
    refusals, manifest = _pack(known, read)
    said = {problem.reason for problem in refusals}
    refusals += [_problem(known, Refused(reason, _REMEDY)) for reason in problems if reason not in said]
    return replace(known, manifest=manifest, problems=tuple(refusals))


def _problem(facts: WheelFacts, refused: Refused) -> PackProblem:
    return PackProblem(
        pack=facts.pack, distribution=facts.distribution, reason=refused.reason, remedy=refused.remedy or AUTHORS_TURN
    )


def _pack(facts: WheelFacts, read: Callable[[str], bytes]) -> tuple[list[PackProblem], Manifest | None]:
    """Judge it as discovery would after an installation, and read its manifest."""
    problems: list[PackProblem] = []
    targets = {file.target: file.name for file in facts.files.values()}
    try:
        own_targets(facts)
        if f"{facts.package}/__init__.py" not in targets:
            raise Refused(f"it ships no package {facts.package}", "its entry point must name a package")
        if f"{facts.package}/pack.toml" not in targets:
            raise Refused(f"its package {facts.package} has no pack.toml")
    except Refused as refused:
        problems.append(_problem(facts, refused))
    try:
        return problems, _manifest(facts, targets, read)
    except ManifestError as error:
        return [*problems, _problem(facts, Refused(error.message, error.remedy))], None


def own_targets(facts: WheelFacts) -> tuple[str, ...]:
    """Return the files that belong to a pack's package, as `InstalledPack.files` has them.

    Raises:
        Refused: it would put a file elsewhere.
    """
    targets = [file.target for file in facts.files.values()]
    commands = facts.groups.get("console_scripts", {})
    return own_files(targets, package=facts.package, folder=facts.dist_info, commands=commands)


def _manifest(facts: WheelFacts, targets: dict[str, str], read: Callable[[str], bytes]) -> Manifest | None:
    at = f"{facts.package}/pack.toml"
    if at not in targets:
        return None
    manifest = parse_manifest(read(targets[at]), Path(at), package=facts.package)
    if manifest.name != facts.pack:
        raise ManifestError(f"{at}: pack.name is {manifest.name}, and the entry point says {facts.pack}")
    return manifest


def _strangers(facts: WheelFacts) -> Iterator[str]:
    """Yield what no wheel may bring into an environment that Remit runs in."""
    targets = [_in_site(file.target) for file in facts.files.values()]
    for target in targets:
        top = target.partition("/")[0]
        runs = "/" not in target and top.endswith((".pth", ".start"))
        if runs or top.partition(".")[0] in _STARTUP:
            yield f"it installs the start-up file {top[:80]!a}, which every Python would run"
    yield from _other_distributions(facts, targets)
    tops = {target.partition("/")[0].partition(".")[0] for target in targets}
    within = {".".join(target.split("/")[:2]).removesuffix(".py") for target in targets}
    for module in strange_host_modules(facts.distribution, tops | within):
        yield f"it brings the module {module}, which is not its own, and Remit itself would import it"
    if facts.distribution.lower() != "remit":
        yield from (f"it would replace files of Remit itself ({top})" for top in _OURS if top in tops)
    for command in sorted(_commands(facts)):
        if not _COMMAND.fullmatch(command):
            yield f"it installs a command named {command[:60]!a}, which is no name of a file"
        elif command.rstrip("w0123456789.-").lower() in _PROGRAMS and facts.distribution.lower() not in _THEIR_OWN:
            yield f"it installs a command named {command[:60]!a}"


def _other_distributions(facts: WheelFacts, targets: Iterable[str]) -> Iterator[str]:
    """Yield metadata that a wheel brings beside its own: of another distribution, or what only pip writes."""
    tops = {target.partition("/")[0] for target in targets}
    for top in sorted(top for top in tops if top.lower().endswith(_METADATA) and top != facts.dist_info):
        yield f"it brings {top[:80]!a}, as if another distribution were installed"
    if f"{facts.dist_info}/direct_url.json" in facts.files:
        yield "it brings a direct_url.json, in which pip writes where something was installed from"


def _in_site(target: str) -> str:
    """Return a file's place within the site folder, also where `.data/data` leads there by a way round."""
    return re.sub(r"\A.*(?:site|dist)-packages/", "", target)


def _requirements(facts: WheelFacts) -> Iterator[str]:
    for wanted in facts.requires:
        try:
            requirement = Requirement(wanted)
        except InvalidRequirement:
            yield f"it requires {wanted[:120]!a}, which is no requirement"
            continue
        if requirement.url:
            yield f"it requires {requirement.name} from an address of its own, which no index vouches for"


def _commands(facts: WheelFacts) -> set[str]:
    named = {name for group in ("console_scripts", "gui_scripts") for name in facts.groups.get(group, {})}
    scripts = "../../../bin/"
    return named | {file.target.removeprefix(scripts) for file in facts.files.values() if scripts in file.target}


def _notes(facts: WheelFacts) -> Iterator[str]:
    """Yield what to know before it is installed, and is no reason against it."""
    commands = sorted(_commands(facts))
    if commands:
        yield f"it installs the commands {', '.join(commands)[:200]}"
    compiled = [name for name in facts.files if name.endswith(_COMPILED)]
    if compiled:
        yield f"{len(compiled)} of its files are compiled code ({compiled[0][:80]})"
    if not facts.is_pack:
        for group in sorted(set(facts.groups) - {"console_scripts", "gui_scripts"}):
            yield f"it has entry points of group {group[:60]}, which other programs import"
        outside = [file.target for file in facts.files.values() if file.target.startswith("../../../")]
        outside = [target for target in outside if not target.startswith("../../../bin/")]
        if outside:
            yield f"it puts files outside the site folder ({outside[0][9:89]})"
