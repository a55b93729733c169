"""What `${workspace}` and `${data}` stand for, and how path patterns become real paths of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from remit.deployment.source import CONFIG_NAME
from remit.errors import DeploymentError, PolicyError
from remit.packs.path_patterns import anchored_path


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """Path patterns as absolute real paths.

    Attributes:
        paths: existing files, and `/dir/**` for folders; sorted.
        notes: which patterns give nothing, and why.
    """

    paths: tuple[str, ...]
    notes: tuple[str, ...] = ()


def workspace_of(folder: Path, written: str) -> Path:
    """Return the absolute real path of the workspace, which need not exist.

    Args:
        folder: the deployment's folder, real path.
        written: what `workspace` says, relative to the folder or absolute.

    Raises:
        DeploymentError: it would hold a `remit.toml`, or it is written relative to the deployment and a
            link leads elsewhere: what was accepted says `workspace`, and a link can be changed later.
    """
    real = Path(os.path.realpath(folder / written))
    if not os.path.isabs(written) and str(real) != os.path.normpath(folder / written):
        raise DeploymentError(
            f"the workspace {written} is reached through a symbolic link, to {real}",
            remedy=f'write where it is: workspace = "{real}"',
        )
    if folder.is_relative_to(real) or (real / CONFIG_NAME).exists():
        raise DeploymentError(
            f"the workspace {real} holds a {CONFIG_NAME}",
            remedy='name a folder of its own, such as workspace = "workspace"',
        )
    return real


def resolve_paths(patterns: Iterable[str], anchors: Mapping[str, Path], *, create: bool = False) -> Resolved:
    """Resolve path patterns to what exists on this machine.

    An anchor that is not in `anchors` (`${tmp}`, which every cell has) gives nothing here.

    Args:
        patterns: patterns of `remit.packs.path_patterns`.
        anchors: `workspace`, `data` to absolute real paths.
        create: make missing folders below an anchor.

    Raises:
        PolicyError: a link leads out of the anchor.
    """
    paths: set[str] = set()
    notes: list[str] = []
    for pattern in patterns:
        base = _anchor(pattern, anchors)
        text = anchored_path(pattern, {name: str(path) for name, path in anchors.items()})
        if text is None:
            continue
        path, note = _resolve(pattern, text, base, create=create)
        if path:
            paths.add(path)
        else:
            notes.append(note)
    return Resolved(paths=tuple(sorted(paths)), notes=tuple(notes))


def _anchor(pattern: str, anchors: Mapping[str, Path]) -> Path | None:
    name = pattern[2:].partition("}")[0] if pattern.startswith("${") else ""
    return anchors.get(name)


def _resolve(pattern: str, text: str, base: Path | None, *, create: bool) -> tuple[str, str]:
    folder = text.endswith("/**")
    real = Path(os.path.realpath(text.removesuffix("/**") or "/"))
    if base is not None and not real.is_relative_to(base):
        raise PolicyError(
            f"{pattern} leads out of its folder, to {real}",
            remedy="grant the folder that the link points to by its own path, or remove the link",
        )
    if folder and create and base is not None:
        real.mkdir(parents=True, exist_ok=True)
    if folder:
        return (f"{str(real).rstrip('/')}/**", "") if real.is_dir() else ("", f"{pattern}: there is no such folder")
    if real.is_dir():
        return "", f"{pattern} is a folder; a folder is written {pattern}/**"
    return (str(real), "") if real.is_file() else ("", f"{pattern}: there is no such file")
