"""What kind of bytes a handler returned, by their first bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
)
_VAGUE = ("application/octet-stream", "application/zip", "text/plain; charset=utf-8")
_OFFICE = "application/vnd.openxmlformats-officedocument."
_ENDINGS = {
    "csv": "text/csv",
    "docx": f"{_OFFICE}wordprocessingml.document",
    "epub": "application/epub+zip",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "parquet": "application/vnd.apache.parquet",
    "pptx": f"{_OFFICE}presentationml.presentation",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "xlsx": f"{_OFFICE}spreadsheetml.sheet",
    "xml": "application/xml",
}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


def media_type(data: bytes) -> str:
    """Return the media type that the first bytes of `data` show; text when all of it is UTF-8."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data[:4] == b"RIFF" and data[8:12] in _RIFF:
        return _RIFF[data[8:12]]
    if data[4:8] == b"ftyp":
        return "video/mp4"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    if any(c < " " and c not in "\t\n\r\f\v\x1b" for c in text):
        return "application/octet-stream"
    return "text/plain; charset=utf-8"


def media_type_of(data: bytes, name: str = "") -> str:
    """Return the media type of a file: its first bytes where they are telling, else the ending of its name."""
    seen = media_type(data)
    ending = name.rpartition(".")[2].lower()
    # `mimetypes` reads tables of the machine, which a cell may not.
    return _ENDINGS.get(ending, seen) if seen in _VAGUE else seen


@dataclass(frozen=True, kw_only=True)
class File:
    """A file as part of a result; `Context.file` makes it."""

    data: bytes = field(repr=False)
    media_type: str
