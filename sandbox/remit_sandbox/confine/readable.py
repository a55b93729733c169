"""What every cell may read, beside what it is granted: the interpreter and what programs expect."""

from __future__ import annotations

import os
import ssl
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

_DATA = (
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/ssl/openssl.cnf",
    "/usr/share/zoneinfo",
    "/usr/lib/locale",
    "/usr/share/locale",
)
_RANDOM = ("/dev/urandom", "/dev/random")
WRITABLE_DEVICES = ("/dev/null", "/dev/zero")
"""Devices that a cell may read and write."""

OWN_PROCESS = tuple(
    f"/proc/self/{name}"
    for name in (
        "auxv",
        "cmdline",
        "comm",
        "environ",
        "fd",
        "fdinfo",
        "io",
        "limits",
        "maps",
        "oom_score",
        "oom_score_adj",
        "personality",
        "schedstat",
        "smaps",
        "smaps_rollup",
        "stat",
        "statm",
        "status",
    )
)
"""What a cell may read of itself. Not all of /proc/self: `net` shows every socket of the machine, also below
`task`, and others show its mounts and control groups."""

_SHARED_BY_CERTIFICATES = ("/etc/", "/usr/share/", "/usr/local/share/")


def default_paths(site: Iterable[str]) -> tuple[str, ...]:
    """Real paths that every cell may read; those that do not exist here are left out.

    Args:
        site: folders that hold the packages of the supervisor itself.
    """
    wanted = [*_interpreter(), *_library_folders(), *_DATA, *_RANDOM, *site]
    return _existing(wanted)


def certificate_paths() -> tuple[str, ...]:
    """Real paths of the certificate authorities that `ssl` trusts by default."""
    places = ssl.get_default_verify_paths()
    wanted = [places.openssl_cafile, places.openssl_capath]
    folder = Path(places.openssl_capath)
    if folder.is_dir():
        wanted += [_certificate_home(item) for item in folder.iterdir() if item.is_symlink()]
    return _existing(wanted)


def _certificate_home(link: Path) -> str:
    """The folder of a linked certificate where such folders hold nothing else, else the file."""
    real = os.path.realpath(link)
    return str(Path(real).parent) if real.startswith(_SHARED_BY_CERTIFICATES) else real


def _interpreter() -> Iterator[str]:
    yield sys.executable
    # A program that a cell starts may be this interpreter, which in a virtual environment reads this file.
    yield from (str(folder / "pyvenv.cfg") for folder in Path(sys.executable).parents[:2])
    yield from (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))


def _library_folders() -> Iterator[str]:
    """Folders that shared libraries come from: those of this process, and the loader's own."""
    multiarch = sysconfig.get_config_var("MULTIARCH")
    yield from ("/lib64", "/usr/lib64")
    if multiarch:
        yield from (f"/lib/{multiarch}", f"/usr/lib/{multiarch}")
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    for line in maps.splitlines():
        path = line.partition("/")[2]
        if ".so" in path.rpartition("/")[2]:
            yield "/" + path.rpartition("/")[0]


def _existing(wanted: Iterable[str]) -> tuple[str, ...]:
    real = {os.path.realpath(path) for path in wanted if path}
    return tuple(sorted(path for path in real - {"/"} if Path(path).exists()))
