"""Writes wheels by hand, sound ones and such as no build tool would make."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

MANIFEST = """\
manifest = 1
[pack]
name = "tide"
summary = "Tides"
[permissions]
net = ["tides.example:443"]
[[skill]]
name = "run"
handler = "tide_pack:run"
effect = "read"
uses = ["net"]
"""

CODE = '''\
from pathlib import Path
Path(__file__).with_name("IMPORTED").touch()
def run(place: str) -> str:
    """Run.

    Args:
        place: where.
    """
    return place
'''

METADATA = """\
Metadata-Version: 2.1
Name: tide-pack
Version: {version}
Summary: Tides
Requires-Dist: packaging>=20

"""
ENTRY = "[remit.packs]\ntide = tide_pack\n"
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def contents(version: str = "1.4", files: Mapping[str, str | bytes | None] | None = None) -> dict[str, bytes]:
    """Return the files of a sound wheel, without its RECORD; `files` adds to them, None takes one away."""
    info = f"tide_pack-{version}.dist-info"
    whole: dict[str, str | bytes | None] = {
        "tide_pack/__init__.py": CODE,
        "tide_pack/pack.toml": MANIFEST,
        f"{info}/METADATA": METADATA.format(version=version),
        f"{info}/WHEEL": WHEEL,
        f"{info}/entry_points.txt": ENTRY,
        **{name.replace("{info}", info): text for name, text in (files or {}).items()},
    }
    return {name: text.encode() if isinstance(text, str) else text for name, text in whole.items() if text is not None}


def record(files: Mapping[str, bytes], info: str) -> bytes:
    """Return the RECORD of these files."""
    lines = [f"{name},sha256={_hash(data)},{len(data)}" for name, data in files.items()]
    return ("\n".join([*lines, f"{info}/RECORD,,"]) + "\n").encode()


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_wheel(
    folder: Path,
    *,
    version: str = "1.4",
    files: Mapping[str, str | bytes | None] | None = None,
    recorded: Mapping[str, bytes] | None = None,
    name: str = "tide_pack",
) -> Path:
    """Write a wheel of the pack `tide`, and return its path.

    Args:
        folder: where to.
        version: of the distribution.
        files: more or other files; None takes one away; `{info}` stands for the `.dist-info` folder.
        recorded: what RECORD says instead of the truth.
        name: of the distribution in the file's name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"tide_pack-{version}.dist-info"
    whole = contents(version, files)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in whole.items():
            archive.writestr(file, data)
        archive.writestr(f"{info}/RECORD", record({**whole, **(recorded or {})}, info))
    return path
