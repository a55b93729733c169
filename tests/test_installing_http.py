"""Packs from an index that is spoken to over HTTP, as most are: a real one, on loopback."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from remit.errors import PackError
from remit.installing.environment import Environment
from remit.installing.fetch import fetch
from tests.index_parts import new_environment, pack_wheel, write_wheel


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *arguments: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is served, where `publish` makes an index."""
    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple/")
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


def publish(folder: Path, wheel: Path, *, yanked: bool = False) -> None:
    """Put a wheel that lies in the folder on the index."""
    name = wheel.name.partition("-")[0].replace("_", "-")
    page = folder / "simple" / name / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    mark = ' data-yanked="broken"' if yanked else ""
    page.write_text(f'<!DOCTYPE html><a href="/{wheel.name}#sha256={digest}"{mark}>{wheel.name}</a>\n')


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return new_environment(tmp_path / "env")


def test_wheels_are_downloaded_by_their_hashes(served: Path, environment: Environment, tmp_path: Path) -> None:
    moon = write_wheel(served, "moon", "1.0", {"moon.py": ""})
    tide = pack_wheel(served, requires=["moon"])
    publish(served, moon)
    publish(served, tide, yanked=True)
    target = tmp_path / "wheels"
    target.mkdir()
    found = {one.path.name: one for one in fetch(environment, ["remit-tide==1.0"], target)}
    assert sorted(found) == [moon.name, tide.name]
    assert (target / tide.name).read_bytes() == tide.read_bytes()
    assert (found[tide.name].requested, found[tide.name].yanked) == (True, True)
    assert (found[moon.name].requested, found[moon.name].yanked) == (False, False)


def test_a_file_that_is_not_what_the_index_says_is_refused(
    served: Path, environment: Environment, tmp_path: Path
) -> None:
    tide = pack_wheel(served)
    publish(served, tide)
    pack_wheel(served, files={"remit_tide/other.py": "# another file under the same name"})
    with pytest.raises(PackError, match=r"(?i)hash"):
        fetch(environment, ["remit-tide"], tmp_path)
