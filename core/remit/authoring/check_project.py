"""What can be said about a pack before anything of it runs: its files, its manifest's text, its requirements."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from remit.authoring.findings import Finding
from remit.authoring.source_facts import Source
from remit.authoring.subject import Subject
from remit.errors import ManifestError, PackError
from remit.packs.contents import entry_point
from remit.packs.distribution import GROUP, Refused
from remit.packs.manifest import Manifest, read_pack_manifest
from remit.plain_file import read_plain

_STARTUP = ("sitecustomize", "usercustomize")


def read_it(subject: Subject) -> Manifest | Finding:
    """Return the manifest, or why there is none."""
    try:
        return read_pack_manifest(subject.pack)
    except (ManifestError, PackError) as error:
        file = subject.shown(subject.pack.manifest)
        message = error.message.removeprefix(f"{subject.pack.manifest}: ")
        return Finding(code="manifest-wrong", level="error", message=message, remedy=_own(error.remedy), file=file)


def _own(remedy: str) -> str:
    return "" if remedy.startswith("its author") else remedy


def check_project(subject: Subject) -> Iterator[Finding]:
    """Check a project's folder for what would go wrong once it is built and installed."""
    if subject.project is None:
        return
    path = subject.project / "pyproject.toml"
    try:
        table = tomllib.loads(read_plain(path, 1024 * 1024).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        yield Finding(
            code="pack-refused",
            level="error",
            message="there is no pyproject.toml that can be read, so it cannot be installed",
            remedy="`remit packs new NAME` writes one to copy from",
            file="pyproject.toml",
        )
        return
    yield from _check_entry_points(table.get("project", {}))
    yield from _check_packaging(table, subject)
    yield from _check_startup(subject)


def _check_entry_points(project: Any) -> Iterator[Finding]:
    groups = {str(key): dict(value) for key, value in dict(project.get("entry-points", {})).items()}
    if project.get("scripts"):
        groups["console_scripts"] = dict(project["scripts"])
    try:
        if GROUP not in groups:
            raise Refused(
                f"pyproject.toml names no pack: it has no entry point of group {GROUP}",
                f'add [project.entry-points."{GROUP}"] with NAME = "PACKAGE"',
            )
        entry_point(groups)
    except Refused as refused:
        yield Finding(
            code="pack-refused", level="error", message=refused.reason, remedy=refused.remedy, file="pyproject.toml"
        )


def _check_packaging(table: dict[str, Any], subject: Subject) -> Iterator[Finding]:
    """setuptools leaves data files out of wheels unless it is told."""
    backend = str(table.get("build-system", {}).get("build-backend", "setuptools"))
    data = table.get("tool", {}).get("setuptools", {}).get("package-data", {})
    listed = [str(one) for key in (subject.pack.package, "*") for one in data.get(key, [])]
    if backend.startswith("setuptools") and not any(one in ("pack.toml", "*.toml", "*", "**") for one in listed):
        yield Finding(
            code="manifest-not-packaged",
            level="error",
            message="setuptools would leave pack.toml out of the wheel",
            remedy=f'add [tool.setuptools.package-data] {subject.pack.package} = ["pack.toml"]',
            file="pyproject.toml",
        )


def _check_startup(subject: Subject) -> Iterator[Finding]:
    assert subject.project is not None
    for folder in {subject.project.resolve(), subject.pack.root.parent}:
        for path in sorted(folder.iterdir()):
            if path.suffix in (".pth", ".start") or path.stem in _STARTUP:
                yield Finding(
                    code="startup-file",
                    level="error",
                    message=f"{path.name} is a start-up file: every Python of the environment would run it",
                    remedy="remove it; a deployment refuses a pack that ships one",
                    file=subject.shown(path),
                )


def check_requirements(subject: Subject) -> Iterator[Finding]:
    """Compare what the pack requires with what Remit itself needs: one environment has one version of each."""
    from importlib.metadata import requires, version

    ours = {canonicalize_name(Requirement(one).name) for one in requires("remit") or () if "extra ==" not in one}
    for text in subject.requires:
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue
        name = canonicalize_name(wanted.name)
        if name not in ours:
            continue
        exact = any(one.operator in ("==", "===") and not one.version.endswith(".*") for one in wanted.specifier)
        if exact or not wanted.specifier.contains(version(name), prereleases=True):
            why = "pins" if exact else "does not accept the version here of"
            yield Finding(
                code="dependency-conflict",
                level="error",
                message=f"it {why} {name}, which Remit itself needs: {text}",
                remedy=f'write "{name}" without a version, or with a lower bound only',
                file="pyproject.toml" if subject.project is not None else "",
            )


def check_manifest(subject: Subject, manifest: Manifest, source: Source) -> Iterator[Finding]:
    """Check what the manifest says against itself and against the texts of the source."""
    text = subject.pack.manifest.read_text("utf-8-sig", errors="replace")
    file = subject.shown(subject.pack.manifest)
    if not manifest.summary:
        message = "there is no summary, which people read before they enable the pack"
        yield Finding(code="summary-missing", level="warning", message=message, remedy="add [pack] summary", file=file)
    texts = set(source.texts())
    filled = set(re.findall(r"\$\{setting\.(\w+)\}", text))
    for name in manifest.settings:
        if name not in filled and name not in texts:
            yield Finding(
                code="setting-unused",
                level="warning",
                message=f"nothing reads the setting {name}",
                remedy="remove it, or read ctx.settings",
                file=file,
                line=line_of(text, rf"{name}\s*="),
            )


def line_of(text: str, pattern: str, *, after: str = "") -> int:
    """Return the first line that begins with `pattern`, from the one that begins with `after` on; 0 for none."""
    started = not after
    for number, line in enumerate(text.splitlines(), start=1):
        started = started or re.match(after, line.strip()) is not None
        if started and re.match(pattern, line.strip()):
            return number
    return 0


def skill_line(path: Path, skill: str) -> int:
    """Return the line of the manifest that names a skill."""
    text = path.read_text("utf-8-sig", errors="replace")
    return line_of(text, rf"name\s*=\s*[\"']{re.escape(skill)}[\"']", after=r"\[\[\s*skill")
