"""Reads a zip file that nobody has vouched for: nothing is unpacked unasked, and every size is capped.

Refused are the known ways in which a zip file means one thing to whoever looks at it and another to whoever
unpacks it: names that climb, a name twice, links, entries that overlap (a bomb), bytes between entries, and local
headers that differ from the directory.
"""

from __future__ import annotations

import hashlib
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

from remit.errors import PackError

LARGEST = 1024**3
"""Bytes that an archive may have."""

LARGEST_UNPACKED = 4 * 1024**3
"""Bytes that all its files may have together."""

MOST_FILES = 50_000
"""Files that it may hold."""

MOST_RATIO = 200
"""Times that the files may be larger than the archive, beyond the first 64 MiB."""

_FREE = 64 * 1024**2
_PIECE = 1024**2
_HEADER = struct.Struct("<4s22xHH")
_DESCRIPTOR = 24
_LONGEST_PART = 255
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


class Archive:
    """A zip file whose directory has been judged; a context manager.

    Attributes:
        sizes: name of each file to its size in bytes, unpacked; folders are left out.
    """

    def __init__(self, path: Path) -> None:
        """Open and judge the archive.

        Raises:
            PackError: it is no zip file, or one of the kinds above.
        """
        self._where = path.name
        self._file = _open(path)
        try:
            self._zip = zipfile.ZipFile(self._file)
            self._entries = dict(self._judged())
        except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, OSError, OverflowError) as error:
            self._file.close()
            raise PackError(f"{self._where} is no wheel that can be read: {str(error)[:200]!a}") from None
        except PackError:
            self._file.close()
            raise
        self.sizes: Mapping[str, int] = {name: entry.file_size for name, entry in self._entries.items()}

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._zip.close()
        self._file.close()

    def read(self, name: str, largest: int, *, cut: bool = False) -> bytes:
        """Return a file's bytes; with `cut`, the first `largest` of a file that has more.

        Raises:
            PackError: it is larger, or damaged.
        """
        if self.sizes[name] > largest and not cut:
            raise self._refused(f"{name!a} is larger than {largest // 1024} KiB")
        data = bytearray()
        for piece in self.pieces(name):
            data += piece
            if len(data) >= largest:
                break
        return bytes(data[:largest])

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield a file's bytes in pieces of at most 1 MiB; PackError when it is damaged."""
        try:
            with self._zip.open(self._entries[name]) as file:
                while piece := file.read(_PIECE):
                    yield piece
        except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, zlib.error) as error:
            raise self._refused(f"{name!a} is damaged: {str(error)[:120]!a}") from None

    def sha256(self, name: str) -> bytes:
        """Return the SHA-256 of a file."""
        total = hashlib.sha256()
        for piece in self.pieces(name):
            total.update(piece)
        return total.digest()

    def _refused(self, reason: str) -> PackError:
        return PackError(f"{self._where}: {reason}", remedy="do not install it; ask its publisher for a sound wheel")

    def _judged(self) -> Iterator[tuple[str, zipfile.ZipInfo]]:
        entries = self._zip.infolist()
        if len(entries) > MOST_FILES:
            raise self._refused(f"it has more than {MOST_FILES} files")
        self._judge_sizes(entries)
        self._judge_places(entries)
        seen: dict[str, str] = {}
        for entry in entries:
            self._judge(entry)
            same = unicodedata.normalize("NFC", entry.filename).casefold().rstrip("/")
            if same in seen:
                raise self._refused(f"{entry.filename!a} and {seen[same]!a} would be one file")
            seen[same] = entry.filename
            if not entry.is_dir():
                yield entry.filename, entry
        self._judge_folders(seen)

    def _judge_folders(self, names: Mapping[str, str]) -> None:
        """No file may be the folder of another one, which nobody could unpack."""
        for name, shown in names.items():
            above = name.rpartition("/")[0]
            while above:
                if not names.get(above, "/").endswith("/"):
                    raise self._refused(f"{names[above]!a} would be a file and the folder of {shown!a}")
                above = above.rpartition("/")[0]

    def _judge_sizes(self, entries: list[zipfile.ZipInfo]) -> None:
        unpacked, packed = sum(entry.file_size for entry in entries), sum(entry.compress_size for entry in entries)
        if unpacked > LARGEST_UNPACKED:
            raise self._refused(f"its files would have {unpacked // 1024**2} MiB")
        if unpacked > max(_FREE, packed * MOST_RATIO):
            raise self._refused(f"it is a bomb: {packed} bytes that unpack to {unpacked}")

    def _judge(self, entry: zipfile.ZipInfo) -> None:
        name = entry.filename
        if entry.orig_filename != name or not _plain(name):
            raise self._refused(f"it holds {entry.orig_filename[:200]!a}, which is no path below a folder")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind == stat.S_IFDIR and not entry.is_dir()):
            raise self._refused(f"{name!a} is a link or a special file")
        if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
            raise self._refused(f"{name!a} is packed in a way that pip does not promise to read")
        if entry.is_dir() and entry.file_size:
            raise self._refused(f"the folder {name!a} has content")

    def _judge_places(self, entries: list[zipfile.ZipInfo]) -> None:
        """Every byte before the directory belongs to exactly one entry, in the order of their headers."""
        free = 0
        for entry in sorted(entries, key=lambda one: one.header_offset):
            if not 0 <= entry.header_offset - free <= (_DESCRIPTOR if free else 0):
                raise self._refused(f"{entry.filename!a} overlaps another file, or follows bytes that belong to none")
            self._file.seek(entry.header_offset)
            mark, name, extra = _HEADER.unpack(self._file.read(_HEADER.size))
            if mark != b"PK\x03\x04" or self._file.read(name) != _raw_name(entry):
                raise self._refused(f"{entry.filename!a} has another name in its own header")
            free = entry.header_offset + _HEADER.size + name + extra + entry.compress_size
        if not 0 <= self._zip.start_dir - free <= (_DESCRIPTOR if entries else 0):
            raise self._refused("there are bytes between its files and its directory")


def _open(path: Path) -> IO[bytes]:
    try:
        if not path.is_file():
            raise PackError(f"there is no wheel {path}")
        if path.stat().st_size > LARGEST:
            raise PackError(f"{path.name} is larger than {LARGEST // 1024**2} MiB")
        return path.open("rb")
    except OSError as error:
        raise PackError(f"{path} cannot be read ({error.strerror})") from None


def _raw_name(entry: zipfile.ZipInfo) -> bytes:
    return entry.orig_filename.encode("utf-8" if entry.flag_bits & 0x800 else "cp437")


def _plain(name: str) -> bool:
    """Whether a name is a path below a folder on every system, and can be printed."""
    parts = name.removesuffix("/").split("/")
    return (
        len(name) <= 1024
        and name.isprintable()
        and not any(char in name for char in '\\:*?"<>|')
        and all(part not in ("", ".", "..") and part == part.rstrip(". ") for part in parts)
        and all(len(part.encode()) <= _LONGEST_PART for part in parts)
    )
