"""Writes a new pack: complete, installable, tested; something to change rather than to fill in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from remit import __version__
from remit.errors import UsageError
from remit.packs.discovery import discover
from remit.packs.folding import fold
from remit.packs.tables import NAME

LONGEST = 24
"""Characters that a pack's name may have."""

RESERVED = ("remit", "local", "sandbox")
"""Names that Remit keeps: its own skills, functions of the embedding program, and its package `remit_sandbox`."""

OURS = ("calc", "clock", "files", "memory", "python", "weather", "web")
"""Packs of Remit itself: another one of such a name could not be installed beside it."""

_ENDING = ".in"
_CONFUSED = str.maketrans({"0": "o", "1": "l", "_": ""})


def new_pack(name: str, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Write the project `remit-NAME` into `folder`.

    Args:
        name: of the pack.
        folder: where the project's folder is made; it is made itself where it is missing.

    Returns:
        the project's folder, and the files in it.

    Raises:
        UsageError: the name is no pack's name, or taken; or the project's folder is there already.
    """
    check_name(name)
    words = {
        "name": name,
        "package": f"remit_{name}",
        "distribution": f"remit-{name.replace('_', '-')}",
        "version": ".".join(__version__.split(".")[:2]),
    }
    project = folder / words["distribution"]
    try:
        project.mkdir(parents=True)
    except FileExistsError:
        remedy = "choose another name, or --dir for another place"
        raise UsageError(f"{project} is there already", remedy=remedy) from None
    written = []
    for path, text in _files(words):
        target = project / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
        written.append(path)
    return project, tuple(sorted(written))


def check_name(name: str) -> None:
    """See to it that a new pack can have this name.

    Raises:
        UsageError: it breaks the rules, is reserved, or would be taken for another pack.
    """
    if not re.fullmatch(NAME, name) or len(name) > LONGEST:
        near = re.sub(r"_+", "_", re.sub(r"[^a-z0-9]+", "_", name.lower())).strip("_").removeprefix("remit_")[:LONGEST]
        hint = f"such as {near}" if re.fullmatch(NAME, near) else "such as tide"
        raise UsageError(
            f"{name!a} is no pack name: lower-case ASCII letters, digits and single _ between, "
            f"at most {LONGEST} characters",
            remedy=hint,
        )
    if name in RESERVED or name.startswith("remit_"):
        raise UsageError(f"the pack name {name} is reserved", remedy="choose another name")
    taken = next((other for other in sorted({*OURS, *_installed()}) if _alike(other) == _alike(name)), None)
    if taken is not None:
        raise UsageError(
            f"{name} would be taken for the pack {taken}; two packs with one name do not load",
            remedy="choose a name that nobody mixes up",
        )


def _installed() -> Iterator[str]:
    inventory = discover()
    yield from inventory.packs
    yield from (problem.pack for problem in inventory.problems)


def _alike(name: str) -> str:
    """Return what is left of a name for a hasty reader."""
    return fold(name).translate(_CONFUSED).replace("-", "")


def _files(words: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the path below the project, and the text, of each file."""
    for path, item in _walk(files("remit.authoring") / "template", ""):
        text = item.read_text("utf-8")
        for word, value in words.items():
            text = text.replace("{{" + word + "}}", value)
        name = path.removesuffix(_ENDING).replace("src/package/", f"src/{words['package']}/")
        yield {"gitignore": ".gitignore"}.get(name, name), text


def _walk(folder: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
    for item in sorted(folder.iterdir(), key=lambda one: one.name):
        if item.is_dir():
            yield from _walk(item, f"{above}{item.name}/")
        elif item.name.endswith(_ENDING):
            yield f"{above}{item.name}", item
