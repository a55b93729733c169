"""A pack in development, loaded from its folder into a deployment of its own, without being installed."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.deployment.deployment import Deployment
from remit.deployment.files import read_files
from remit.deployment.layers import combine
from remit.deployment.source import CONFIG_NAME
from remit.deployment.trust import Standing
from remit.deployment.wishes import check_settings
from remit.errors import PackError
from remit.packs.installed import InstalledPack, Inventory
from remit.packs.lock import Lock, lock_pack
from remit.packs.manifest import Manifest, read_manifest
from remit.plain_file import read_plain
from remit.state_folder import StateFolder, private_folder
from remit.values import ReadOnly
from remit_sandbox.values import Enforcement

if TYPE_CHECKING:
    from remit_sandbox import Sandbox

_MANIFEST = "pack.toml"
_GROUP = "remit.packs"
_LARGEST_PROJECT = 1024 * 1024


def try_pack(
    folder: str | Path | InstalledPack,
    *,
    settings: Mapping[str, Any] | None = None,
    enforcement: Enforcement | None = None,
    read_only: ReadOnly = False,
    paths: Sequence[str] | None = None,
    workspace: str | Path | None = None,
    private_net: bool = False,
    grants: Mapping[str, Sequence[str]] | None = None,
    secrets: Mapping[str, str] | None = None,
    sandbox: Sandbox | None = None,
) -> Deployment:
    """Open a temporary deployment with one pack, which gets all that its manifest asks for.

    Its data and state are temporary folders that go when the deployment is closed. By default
    nothing asks; the floor of an impact still holds.

    Args:
        folder: of the project (`pyproject.toml` with the package beside it or under `src`), or of
            the package itself; or a pack that is installed or unpacked, which is taken as one in development.
        settings: values for the pack's settings.
        enforcement: None for `kernel` where this machine can, else `available`.
        read_only: the mode.
        paths: site folders for what the pack imports; None for this interpreter's own.
        workspace: an existing folder for `${workspace}`, which stays; None for an empty temporary one.
        private_net: private addresses that the manifest itself names may be reached, too.
        grants: permission key to what it is given, where that is less than the manifest asks for.
        secrets: logical name to value; the others come from the environment.
        sandbox: where its cells run, closed with the deployment; None for one of its own.

    Raises:
        PackError: there is no pack in the folder, or its code cannot be imported.
        ManifestError: its manifest is wrong.
        UsageError: a setting that it does not have.
    """
    installed = replace(folder, editable=True) if isinstance(folder, InstalledPack) else development_pack(Path(folder))
    manifest = read_manifest(installed.manifest, package=installed.package)
    if manifest.name != installed.name:
        raise PackError(f"pack.toml says {manifest.name!r}, the entry point says {installed.name!r}")
    check_settings(manifest, settings or {})
    place = Path(tempfile.mkdtemp(prefix="remit-try-")).resolve()
    try:
        (place / "workspace").mkdir()
        text = _config(
            manifest,
            settings or {},
            enforcement or _best(),
            workspace=_existing(workspace) if workspace is not None else place / "workspace",
            private_net=private_net,
            grants=grants or {},
            secrets=_kept(place / "secrets", secrets or {}),
        )
        return _whole(_open(place, installed, manifest, text, read_only, paths, sandbox))
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _whole(deployment: Deployment) -> Deployment:
    """A single skill may be missing, with its reason; a pack that is left out as a whole is an error."""
    if deployment.assembled.packs:
        return deployment
    deployment.close()
    (error,) = deployment.assembled.errors.values()
    raise error


def development_pack(folder: Path) -> InstalledPack:
    """Find the pack in a project's folder, without running or importing anything.

    Raises:
        PackError: there is none, or more than one.
    """
    real = folder.resolve()
    if not real.is_dir():
        raise PackError(f"there is no folder {folder}", remedy="remit packs new NAME makes one")
    project = _project(real / "pyproject.toml")
    root = _package(real, project)
    declared = _declared(project, root.name)
    name = declared or read_manifest(root / _MANIFEST).name
    return InstalledPack(
        name=name,
        distribution=_line(project.get("name", root.name)),
        version=_line(project.get("version", "0")),
        package=root.name,
        root=root,
        manifest=root / _MANIFEST,
        editable=True,
        metadata=real,
        source=real,
    )


def _line(value: Any) -> str:
    """Return what a project says of itself on one line: more lines would pass for ours."""
    return " ".join(str(value).split())[:200]


def _project(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        project = tomllib.loads(read_plain(path, _LARGEST_PROJECT).decode("utf-8-sig")).get("project", {})
    except (OSError, ValueError, RecursionError) as error:
        raise PackError(f"{path} cannot be read: {str(error)[:200]}") from error
    return project if isinstance(project, dict) else {}


def _package(folder: Path, project: Mapping[str, Any]) -> Path:
    """Return the one package of the project that holds a manifest."""
    if (folder / _MANIFEST).is_file() and (folder / "__init__.py").is_file():
        return folder
    found = _packages(folder)
    wanted = set(_entry_points(project).values())
    named = [path for path in found if path.name in wanted] or found
    if len(named) == 1:
        return named[0]
    if named:
        raise PackError(
            f"{folder} holds several packages with a {_MANIFEST}: {', '.join(path.name for path in named)}",
            remedy="name the folder of the one you mean",
        )
    below = [path.name for path in sorted(folder.iterdir()) if path.is_dir() and _packages(path)]
    hint = f"; did you mean {', '.join(below)} below it?" if below else ""
    raise PackError(
        f"{folder} holds no package with a {_MANIFEST} beside its __init__.py{hint}",
        remedy=f"put {_MANIFEST} into src/<package>/ or <package>/",
    )


def _packages(folder: Path) -> list[Path]:
    """Return the packages of a project that hold a manifest."""
    return [path.parent for top in (folder / "src", folder) for path in sorted(top.glob(f"*/{_MANIFEST}"))]


def _entry_points(project: Mapping[str, Any]) -> dict[str, str]:
    groups = project.get("entry-points", {})
    points = groups.get(_GROUP, {}) if isinstance(groups, dict) else {}
    return {str(name): str(value) for name, value in points.items()} if isinstance(points, dict) else {}


def _declared(project: Mapping[str, Any], package: str) -> str | None:
    points = _entry_points(project)
    for name, value in points.items():
        if value == package:
            return name
    if project and points:
        raise PackError(f"no entry point of group {_GROUP} names the package {package}")
    return None


def _best() -> Enforcement:
    from remit_sandbox.probe import probe

    return "available" if probe().missing else "kernel"


def _existing(workspace: str | Path) -> Path:
    folder = Path(workspace).resolve()
    if not folder.is_dir():
        raise PackError(f"there is no folder {workspace} to be the workspace")
    return folder


def _open(
    place: Path,
    installed: InstalledPack,
    manifest: Manifest,
    config: str,
    read_only: ReadOnly,
    paths: Sequence[str] | None,
    sandbox: Sandbox | None,
) -> Deployment:
    home = place / "deployment"
    home.mkdir()
    (home / CONFIG_NAME).write_text(config, "utf-8")
    locked = lock_pack(installed, manifest, {})
    files = replace(read_files(home), lock=Lock(packs={manifest.name: locked}))
    return Deployment(
        files=files,
        layers=combine(None, files.config.config),
        state=StateFolder(id="0" * 32, path=private_folder(place / "state")),
        inventory=Inventory(packs={manifest.name: installed}),
        standing=Standing(by="person", digest=files.digest),
        read_only=read_only,
        paths=paths,
        on_close=lambda: shutil.rmtree(place, ignore_errors=True),
        sandbox=sandbox,
    )


def _config(
    manifest: Manifest,
    settings: Mapping[str, Any],
    enforcement: Enforcement,
    *,
    workspace: Path,
    private_net: bool,
    grants: Mapping[str, Sequence[str]],
    secrets: Mapping[str, str],
) -> str:
    asked = manifest.permission(manifest.settings_with(settings))
    reads = [name for name, table in manifest.skills.items() if table.effect == "read"]
    given = {**({"net": asked.net} if private_net else {}), **grants}
    lines = [
        "policy = 1",
        f"workspace = {_toml(str(workspace))}",
        "[defaults]",
        'read = "allow"\nwrite = "allow"\nexternal = "allow"\nunattended = "deny"',
        f"enforcement = {_toml(enforcement)}",
        f"[packs.{manifest.name}]",
        "enabled = true",
        f"accept_read = {_toml(reads)}",
        *(f"grant.{key} = {_toml(list(value))}" for key, value in given.items()),
        *(f"settings.{name} = {_toml(value)}" for name, value in settings.items()),
        *(f"secrets.{name} = {_toml(secrets.get(name, f'env:{name.upper()}'))}" for name in asked.secrets),
    ]
    return "\n".join(lines) + "\n"


def _kept(folder: Path, secrets: Mapping[str, str]) -> dict[str, str]:
    """Write secrets to files that only their owner reads, and return a reference to each."""
    if secrets:
        folder.mkdir(mode=0o700)
    for name, value in secrets.items():
        with open(os.open(folder / name, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(value)
    return {name: f"file:{folder / name}" for name in secrets}


def _toml(value: Any) -> str:
    """Write a value of a setting: the JSON form of text, numbers, switches and lists of them is valid TOML."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
