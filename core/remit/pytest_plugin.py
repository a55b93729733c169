"""The pytest plugin of Remit: the fixture `remit_pack`.

Loaded by pytest in every environment that has Remit, so it imports nothing of Remit before a test asks for the
fixture, and does nothing to tests that do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from remit.testing import TriedPack

MARKER = "remit_pack(source, **options): how the fixture remit_pack opens the pack; the arguments of remit.testing.pack"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option `remit_pack`: the folder of the pack, or its name."""
    parser.addini(
        "remit_pack", "for the fixture remit_pack: folder of the pack's project, or name of an installed pack"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def remit_pack(request: pytest.FixtureRequest) -> Iterator[TriedPack]:
    """The pack of the project that the test belongs to, open in cells of its own.

    `@pytest.mark.remit_pack(settings={...}, net={...})` says how; see `remit.testing.pack`.
    """
    from remit.testing import pack

    marker = request.node.get_closest_marker("remit_pack")
    options: dict[str, Any] = dict(marker.kwargs) if marker else {}
    source = marker.args[0] if marker and marker.args else options.pop("source", None)
    with pack(source or _source(request.config, request.path), **options) as opened:
        yield opened


def _source(config: pytest.Config, test: Path) -> str | Path:
    """Return the pack of the ini file, or the nearest project above the test."""
    written = str(config.getini("remit_pack"))
    if written:
        below = config.rootpath / written
        return below if below.is_dir() else written
    for folder in test.parents:
        if (folder / "pyproject.toml").is_file():
            return folder
    return config.rootpath
