"""Hashes over what a pack consists of: the same on every machine that has the same files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from remit.errors import PackError

_COMPILED = (".so", ".pyd", ".dylib", ".dll")
_METADATA = ("METADATA", "entry_points.txt")


class Installed(Protocol):
    """What has files of its own in a site folder: a pack, or an extension."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    @property
    def root(self) -> Path:
        """The package's folder."""
        ...

    @property
    def package(self) -> str:
        """The top-level package."""
        ...

    @property
    def files(self) -> tuple[str, ...]:
        """What RECORD lists, as POSIX paths below the folder that holds the package."""
        ...

    @property
    def metadata(self) -> Path:
        """The distribution's `.dist-info` folder."""
        ...

    @property
    def editable(self) -> bool:
        """A development install."""
        ...


def digest(data: bytes) -> str:
    """Return `sha256:...` of bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_of(value: Any) -> str:
    """Return the digest of a value as canonical JSON text."""
    return digest(canonical(value).encode("utf-8", "surrogatepass"))


def canonical(value: Any) -> str:
    """Return JSON text with sorted keys and nothing to choose; characters that cannot be seen are escaped."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text if text.isprintable() else "".join(_escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char if char.isprintable() else json.dumps(char)[1:-1]


def file_digests(pack: Installed) -> dict[str, str]:
    """Return the SHA-256 of each file of a pack by its name in the lock's digest, such as `tide_pack/skills.py`.

    Raises:
        PackError: as `hash_files`.
    """
    try:
        return {name: _file_digest(path) for path, name in _files(pack)}
    except OSError as error:
        raise PackError(f"pack {pack.name}: {error.filename} cannot be read ({error.strerror})") from None


def hash_files(pack: Installed, digests: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return two digests: of the files that are alike everywhere, and of the compiled ones.

    The package's folder is walked rather than RECORD followed, because a file that was put beside the
    others takes part in imports, too. Python's caches in `__pycache__` are left out, since a cell never
    reads them for a pack; whatever else lies there is in, and so are METADATA and entry_points.txt.
    The second is empty when nothing is compiled.

    Args:
        pack: the pack.
        digests: what `file_digests` returned; None to read the files now.

    Raises:
        PackError: a file or folder cannot be read, or a folder is a symbolic link: what lies behind it
            is no part of the package, and would be imported all the same.
    """
    alike: list[str] = []
    compiled: list[str] = []
    for name, found in (file_digests(pack) if digests is None else digests).items():
        (compiled if _is_compiled(name) else alike).append(f"{name}\0{found}\n")
    return _over(alike), _over(compiled) if compiled else ""


def _over(lines: Iterable[str]) -> str:
    return digest("".join(sorted(lines)).encode("utf-8", "surrogateescape"))


def _is_compiled(name: str) -> bool:
    return name.endswith(_COMPILED) or name.partition("/")[0].endswith(".libs")


def _files(pack: Installed) -> Iterator[tuple[str, str]]:
    """Yield (path, name in the digest) of every file that counts."""
    yield from _below(str(pack.root), pack.package)
    for name in pack.files:
        if name.partition("/")[0].endswith(".libs"):
            yield str(pack.root.parent / name), name
    for name in _METADATA if not pack.editable else ():
        yield str(pack.metadata / name), f".dist-info/{name}"


def _below(folder: str, name: str) -> Iterator[tuple[str, str]]:
    folders = [(folder, name)]
    while folders:
        path, above = folders.pop()
        with os.scandir(path) as entries:
            for entry in entries:
                below = (entry.path, f"{above}/{entry.name}")
                if entry.is_dir(follow_symlinks=False):
                    folders.append(below)
                elif not _is_cache(path, entry.name):
                    yield below


def _is_cache(folder: str, name: str) -> bool:
    """Tell whether a file is Python's own cache of a source file that is there."""
    source = name.partition(".")[0] + ".py"
    return folder.endswith("/__pycache__") and name.endswith(".pyc") and os.path.isfile(f"{folder}/../{source}")


def _file_digest(path: str) -> str:
    """Return the digest of a file's content; of what else it is, when it is no regular file."""
    if os.path.isdir(path):
        raise PackError(f"{path} is a symbolic link to a folder", remedy="a package must hold its own files")
    if not os.path.isfile(path):
        return f"link to {os.readlink(path)}" if os.path.islink(path) else "absent or special"
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wheel_tag(pack: Installed) -> str:
    """Return the tags of the wheel that was installed, `py3-none-any` when its WHEEL file says nothing."""
    try:
        with (pack.metadata / "WHEEL").open("rb") as file:
            lines = file.read(65536).decode("ascii", "replace").splitlines()
    except OSError:
        lines = []
    tags = sorted(line.partition(":")[2].strip() for line in lines if line.lower().startswith("tag:"))
    return " ".join(tags) or "py3-none-any"


def content_digest(name: str, description: str, schema: Mapping[str, Any]) -> str:
    """Return the digest of what a model reads about a skill."""
    return digest_of([name, description, schema])
