"""Builds the fixture packs and the first-party packs as wheels, and unpacks them into a site folder."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES = (ROOT / "tests" / "packs", ROOT / "plugins")


def project(name: str) -> Path:
    """Return the project folder of a fixture pack (`good`) or first-party pack (`remit-calc`)."""
    for place in PLACES:
        if (place / name / "pyproject.toml").is_file():
            return place / name
    raise LookupError(f"there is no pack project {name!r}")


def build_site(tmp_path: Path, *names: str) -> Path:
    """Return `tmp_path/site`, into which the wheels of the named packs are unpacked.

    It is what `pip install --target` leaves behind, except for scripts: packages and `.dist-info`
    folders. Call it again to add packs. Wheels are built once a test session.
    """
    site = tmp_path / "site"
    site.mkdir(parents=True, exist_ok=True)
    for name in names:
        with zipfile.ZipFile(build_wheel(name)) as wheel:
            wheel.extractall(site)
    return site


@cache
def build_wheel(name: str) -> Path:
    """Return the wheel of the named pack, built once."""
    from hatchling.builders.wheel import WheelBuilder

    target = _wheels() / name
    return Path(next(WheelBuilder(str(project(name))).build(directory=str(target), versions=["standard"])))


@cache
def _wheels() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="remit-wheels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
