"""Reads a wheel before it is installed: what it is, what it would put where, and why not to.

Nothing of it runs and nothing is unpacked, except by `unpack_wheel` into a folder that is named. The formats are
those of the Python packaging guide: wheel file names, METADATA, RECORD with its hashes, entry points, `.data`
folders. A wheel whose parts contradict one another is refused, because its reader and its installer would see two
different wheels.
"""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesHeaderParser
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from remit.errors import PackError
from remit.packs.archive import Archive
from remit.packs.distribution import Refused, parse_entry_points
from remit.packs.installed import InstalledPack
from remit.packs.manifest import LARGEST
from remit.packs.wheel_facts import WheelFacts, WheelFile
from remit.packs.wheel_rules import judged, own_targets

__all__ = ["WheelFacts", "WheelFile", "read_wheel", "unpack_wheel"]

_METADATA = 512 * 1024
_NAMES = 256 * 1024
_RECORD = 64 * 1024 * 1024
_SIGNATURES = ("RECORD", "RECORD.jws", "RECORD.p7s")
_PLACES = {
    "purelib": "",
    "platlib": "",
    "scripts": "../../../bin/",
    "headers": "../../../include/",
    "data": "../../../",
}


def read_wheel(path: str | Path) -> WheelFacts:
    """Read a wheel; what speaks against installing it is in `problems`.

    Raises:
        PackError: it cannot be read, or its parts contradict one another, so that nothing said about it would hold.
    """
    wheel = Path(path)
    name, version, tags = _file_name(wheel)
    with Archive(wheel) as archive:
        folder = _dist_info(archive, wheel, name, version)
        _check_format(archive, wheel, folder)
        headers = BytesHeaderParser().parsebytes(archive.read(f"{folder}/METADATA", _METADATA, cut=True))
        _same(wheel, headers, name, version)
        facts = WheelFacts(
            path=wheel,
            sha256=_sha256(wheel),
            size=wheel.stat().st_size,
            distribution=headers["Name"].strip(),
            version=headers["Version"].strip(),
            summary=_header(headers, "Summary"),
            tags=tags,
            requires_python=_header(headers, "Requires-Python"),
            requires=tuple(" ".join(str(one).split()) for one in headers.get_all("Requires-Dist", [])),
            groups=_groups(archive, wheel, folder),
            files=_one_each(wheel, dict(_files(archive, wheel, folder))),
            dist_info=folder,
        )
        return judged(facts, lambda name: archive.read(name, LARGEST))


def unpack_wheel(facts: WheelFacts, folder: Path) -> InstalledPack:
    """Unpack a pack's wheel into `folder` as pip would into a site folder; scripts and data are left out.

    Nothing of it runs. The folder has to be empty and private; the caller removes it.

    Raises:
        PackError: the wheel has problems, is no pack, or changed since it was read.
    """
    if facts.problems or not facts.pack:
        reason = facts.problems[0].reason if facts.problems else "it is no pack"
        raise PackError(f"{facts.path.name} is not unpacked: {reason}")
    with Archive(facts.path) as archive:
        for file in facts.files.values():
            if not file.target.startswith("../"):
                _unpack(archive, file, folder / file.target)
    root = folder / facts.package
    return InstalledPack(
        name=facts.pack,
        distribution=facts.distribution,
        version=facts.version,
        package=facts.package,
        root=root,
        manifest=root / "pack.toml",
        editable=False,
        files=own_targets(facts),
        metadata=folder / facts.dist_info,
    )


def _unpack(archive: Archive, file: WheelFile, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    total = hashlib.sha256()
    with target.open("xb") as copy:
        for piece in archive.pieces(file.name):
            total.update(piece)
            copy.write(piece)
    if total.hexdigest() != file.sha256:
        raise PackError(f"{file.name!a} changed while the wheel was read")


def _file_name(path: Path) -> tuple[str, str, tuple[str, ...]]:
    try:
        name, version, _, tags = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise PackError(f"{path.name!a} is no wheel's name: {str(error)[:200]!a}") from None
    return str(name), str(version), tuple(sorted(map(str, tags)))


def _dist_info(archive: Archive, wheel: Path, name: str, version: str) -> str:
    """Return the one `.dist-info` folder, which has to carry the file's own name and version."""
    folders = {file.partition("/")[0] for file in archive.sizes if file.partition("/")[0].endswith(".dist-info")}
    if len(folders) != 1:
        raise PackError(f"{wheel.name} has {len(folders)} .dist-info folders; a wheel has one")
    folder = folders.pop()
    found, _, which = folder.removesuffix(".dist-info").rpartition("-")
    if canonicalize_name(found) != name or not _same_version(which, version):
        raise PackError(f"{wheel.name} describes another distribution, {folder!a}")
    for needed in ("METADATA", "WHEEL", "RECORD"):
        if f"{folder}/{needed}" not in archive.sizes:
            raise PackError(f"{wheel.name} has no {needed}, so it is no whole wheel")
    return folder


def _check_format(archive: Archive, wheel: Path, folder: str) -> None:
    """Refuse a wheel of a format that pip would not install, after everybody has agreed to it."""
    said = BytesHeaderParser().parsebytes(archive.read(f"{folder}/WHEEL", _NAMES)).get("Wheel-Version", "")
    if str(said).strip().partition(".")[0] != "1":
        raise PackError(f"{wheel.name} is a wheel of version {str(said)[:20]!a}, and 1.0 is known here")


def _same_version(one: str, other: str) -> bool:
    try:
        return Version(one.strip()) == Version(other)
    except InvalidVersion:
        return False


def _header(headers: Message, name: str) -> str:
    return " ".join(str(headers.get(name, "")).split())[:1000]


def _same(wheel: Path, headers: Message, name: str, version: str) -> None:
    found, which = headers.get_all("Name", []), headers.get_all("Version", [])
    one_each = len(found) == len(which) == 1
    if not one_each or canonicalize_name(found[0].strip()) != name or not _same_version(which[0], version):
        said = " ".join(str(part) for part in (*found, *which))
        raise PackError(f"the METADATA of {wheel.name} names another distribution: {said[:120]!a}")


def _groups(archive: Archive, wheel: Path, folder: str) -> dict[str, dict[str, str]]:
    if f"{folder}/entry_points.txt" not in archive.sizes:
        return {}
    data = archive.read(f"{folder}/entry_points.txt", _NAMES)
    try:
        return parse_entry_points(data.decode("utf-8-sig"))
    except Refused as refused:
        raise PackError(f"{wheel.name}: {refused.reason}") from None
    except UnicodeDecodeError:
        raise PackError(f"{wheel.name}: its entry_points.txt is not UTF-8") from None


def _files(archive: Archive, wheel: Path, folder: str) -> Iterator[tuple[str, WheelFile]]:
    """Yield every file, having compared it with RECORD: pip would install what does not fit with a mere warning."""
    recorded = _record(archive, wheel, folder)
    unsigned = {f"{folder}/{name}" for name in _SIGNATURES}
    for name in sorted(archive.sizes):
        found = archive.sha256(name)
        if name not in unsigned and recorded.get(name) != found:
            state = "is not in its RECORD" if name not in recorded else "differs from its RECORD"
            raise PackError(f"{wheel.name}: {name!a} {state}", remedy="do not install it; download it again")
        yield name, WheelFile(name=name, target=_target(name), size=archive.sizes[name], sha256=found.hex())
    missing = sorted(set(recorded) - set(archive.sizes))
    if missing:
        raise PackError(f"{wheel.name}: its RECORD lists {missing[0][:120]!a}, which it does not hold")


def _one_each(wheel: Path, files: dict[str, WheelFile]) -> dict[str, WheelFile]:
    """Refuse two files at one place: what is looked at would be one of them, and what is installed the other."""
    taken: dict[str, str] = {}
    for file in files.values():
        if file.target in taken:
            raise PackError(f"{wheel.name}: {taken[file.target]!a} and {file.name!a} would be installed as one file")
        taken[file.target] = file.name
    return files


def _record(archive: Archive, wheel: Path, folder: str) -> dict[str, bytes]:
    text = archive.read(f"{folder}/RECORD", _RECORD).decode("utf-8", "replace")
    recorded: dict[str, bytes] = {}
    try:
        for row in csv.reader(text.splitlines()):
            if len(row) == 3 and row[1].startswith("sha256="):
                recorded[row[0]] = base64.urlsafe_b64decode(row[1].removeprefix("sha256=") + "=")
    except (csv.Error, ValueError):
        raise PackError(f"the RECORD of {wheel.name} cannot be read") from None
    return recorded


def _target(name: str) -> str:
    """Return where pip puts a file: `.data` folders are spread over the environment."""
    top, _, rest = name.partition("/")
    if not top.endswith(".data"):
        return name
    place, _, below = rest.partition("/")
    return _PLACES.get(place, "../../../") + below


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
