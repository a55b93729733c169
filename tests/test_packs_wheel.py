"""Reading a wheel before it is installed: what it is, and every way in which it may lie about that."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.errors import PackError, RemitError
from remit.packs.archive import Archive
from remit.packs.discovery import discover
from remit.packs.wheel import read_wheel, unpack_wheel
from tests.packaging import build_wheel
from tests.wheel_parts import ENTRY, MANIFEST, METADATA, write_wheel


def test_a_sound_wheel_says_what_it_is_and_nothing_runs(tmp_path: Path) -> None:
    facts = read_wheel(write_wheel(tmp_path))
    assert (facts.pack, facts.package, facts.distribution, facts.version) == ("tide", "tide_pack", "tide-pack", "1.4")
    assert facts.problems == () and facts.notes == ()
    assert facts.requires == ("packaging>=20",) and facts.tags == ("py3-none-any",)
    assert facts.manifest is not None and facts.manifest.permission().net == ("tides.example:443",)
    assert facts.files["tide_pack/pack.toml"].size == len(MANIFEST)
    assert not list(tmp_path.rglob("IMPORTED"))


@pytest.mark.parametrize("name", ["good", "remit-weather", "hostile"])
def test_what_a_build_tool_makes_is_unpacked_as_pip_would(name: str, tmp_path: Path) -> None:
    facts = read_wheel(build_wheel(name))
    unpacked = unpack_wheel(facts, tmp_path)
    found = discover([str(tmp_path)])
    assert not found.problems
    assert found.packs[facts.pack] == unpacked


INFO = "{info}"
STRANGE: list[tuple[str, dict[str, str | bytes | None], str]] = [
    ("start-up", {"tide.pth": "import os"}, "start-up file"),
    ("customize", {"sitecustomize.py": ""}, "start-up file"),
    ("customize package", {"usercustomize/__init__.py": ""}, "start-up file"),
    ("start", {"x.start": ""}, "start-up file"),
    ("outside", {"other/__init__.py": ""}, "outside its package"),
    ("data", {"tide_pack-1.4.data/data/etc/x": ""}, "leads out of its folder"),
    ("script", {"tide_pack-1.4.data/scripts/remit": ""}, "leads out of its folder"),
    ("purelib start-up", {"tide_pack-1.4.data/purelib/x.pth": ""}, "start-up file"),
    ("start-up by a way round", {"tide_pack-1.4.data/data/lib/python3.11/site-packages/x.pth": ""}, "start-up file"),
    ("unknown place", {"tide_pack-1.4.data/strange/x": ""}, "leads out of its folder"),
    ("ourselves", {"remit/__init__.py": ""}, "Remit itself"),
    ("other group", {f"{INFO}/entry_points.txt": ENTRY + "[pydantic]\nx = tide_pack\n"}, "group pydantic"),
    ("dotted", {f"{INFO}/entry_points.txt": "[remit.packs]\ntide = tide_pack.x\n"}, "top-level package"),
    ("two packs", {f"{INFO}/entry_points.txt": ENTRY + "two = tide_pack\n"}, "2 entry points"),
    ("no manifest", {"tide_pack/pack.toml": None}, "no pack.toml"),
    ("no package", {"tide_pack/__init__.py": None}, "ships no package"),
    ("another name", {"tide_pack/pack.toml": MANIFEST.replace('"tide"', '"calc"')}, "the entry point says tide"),
    ("wrong manifest", {"tide_pack/pack.toml": MANIFEST + "odd = 1\n"}, "unknown key"),
    ("url", {f"{INFO}/METADATA": METADATA.format(version="1.4").replace("packaging>=20", "x @ https://e.example/x")},
     "from an address of its own"),
    ("no requirement", {f"{INFO}/METADATA": METADATA.format(version="1.4").replace("packaging>=20", "???")},
     "no requirement"),
    ("command", {f"{INFO}/entry_points.txt": ENTRY + "[console_scripts]\npython3 = tide_pack:run\n"},
     "named 'python3'"),
    ("no command", {f"{INFO}/entry_points.txt": ENTRY + "[console_scripts]\n../x = tide_pack:run\n"}, "named '../x'"),
    ("no code", {f"{INFO}/entry_points.txt": ENTRY + "[console_scripts]\nx = tide_pack:run;exit\n"}, "no function"),
    ("a group in more brackets", {f"{INFO}/entry_points.txt": ENTRY + "[[pytest11]]\nx = tide_pack\n"}, "pytest11,"),
    ("libraries of another", {"numpy.libs/libopenblas.so": ""}, "outside its package"),
    ("a module of the host", {f"{INFO}/entry_points.txt": "[remit.packs]\ntide = keyring\n"}, "Remit itself imports"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "reason"), [row[1:] for row in STRANGE], ids=[row[0] for row in STRANGE])
def test_what_speaks_against_installing_it_is_a_problem(
    tmp_path: Path, files: dict[str, str | bytes | None], reason: str
) -> None:
    facts = read_wheel(write_wheel(tmp_path, files=files))
    assert any(reason in problem.reason for problem in facts.problems), facts.problems
    assert all(problem.remedy for problem in facts.problems)
    with pytest.raises(PackError):
        unpack_wheel(facts, tmp_path / "out")


def test_a_library_is_no_pack_and_its_habits_are_notes(tmp_path: Path) -> None:
    scripts = "[console_scripts]\ntides = tide_pack:run\n[pytest11]\nx = tide_pack\n"
    files: dict[str, str | bytes | None] = {
        "{info}/entry_points.txt": scripts,
        "other/x.so": b"\x7fELF",
        "tide_pack-1.4.data/data/share/man": "",
    }
    facts = read_wheel(write_wheel(tmp_path, files=files))
    assert (facts.is_pack, facts.pack, facts.problems) == (False, "", ())
    said = "\n".join(facts.notes)
    assert "commands tides" in said and "group pytest11" in said and "compiled" in said and "outside the site" in said
    started = read_wheel(write_wheel(tmp_path, files={**files, "x.pth": "import os"}))
    assert "start-up file" in started.problems[0].reason


def rewritten(path: Path, change: Callable[[zipfile.ZipFile], None]) -> Path:
    with zipfile.ZipFile(path, "a") as archive:
        change(archive)
    return path


def odd_name(name: str) -> Callable[[zipfile.ZipFile], None]:
    return lambda archive: archive.writestr(zipfile.ZipInfo(name), b"x")


def link(archive: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo("tide_pack/passwd")
    info.external_attr = 0o120777 << 16
    archive.writestr(info, "/etc/passwd")


def bomb(archive: zipfile.ZipFile) -> None:
    archive.writestr("tide_pack/zeros", bytes(70 * 1024 * 1024), zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (odd_name("../evil.py"), "no path below a folder"),
        (odd_name("/etc/evil"), "no path below a folder"),
        (odd_name("tide_pack/../../evil"), "no path below a folder"),
        (odd_name("tide_pack\\evil.py"), "no path below a folder"),
        (odd_name("C:evil"), "no path below a folder"),
        (odd_name("tide_pack/a\x1b[2J"), "no path below a folder"),
        (odd_name("tide_pack/./x"), "no path below a folder"),
        (odd_name("tide_pack/x. "), "no path below a folder"),
        (odd_name("tide_pack/PACK.toml"), "would be one file"),
        (link, "a link or a special file"),
        (bomb, "a bomb"),
        (odd_name("tide_pack/extra.py"), "is not in its RECORD"),
        (odd_name("other-1.dist-info/METADATA"), "2 .dist-info folders"),
    ],
)
def test_an_archive_that_cannot_be_trusted_is_not_read(
    tmp_path: Path, change: Callable[[zipfile.ZipFile], None], reason: str
) -> None:
    path = write_wheel(tmp_path)
    read_wheel(path)
    with pytest.raises(PackError, match=reason):
        read_wheel(rewritten(path, change))


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        path = rewritten(write_wheel(tmp_path), odd_name("tide_pack/pack.toml"))
    with pytest.raises(PackError, match="would be one file"):
        read_wheel(path)


def test_bytes_before_between_and_other_local_names_are_refused(tmp_path: Path) -> None:
    sound = write_wheel(tmp_path).read_bytes()
    path = tmp_path / "tide_pack-1.4-py3-none-any.whl"
    path.write_bytes(b"#!/bin/sh\n" + sound)
    with pytest.raises(PackError, match="bytes that belong to none"):
        read_wheel(path)
    path.write_bytes(sound.replace(b"tide_pack/__init__.py", b"tide_pack/__exit__.py", 1))
    with pytest.raises(PackError, match="another name in its own header"):
        read_wheel(path)
    directory = sound.rindex(b"PK\x05\x06")
    start = struct.unpack("<I", sound[directory + 16 : directory + 20])[0]
    hidden = io.BytesIO()
    with zipfile.ZipFile(hidden, "w") as archive:
        archive.writestr("tide_pack/hidden.py", "x")
    extra = hidden.getvalue()[: hidden.getvalue().index(b"PK\x01\x02")]
    moved = sound[:start] + extra + sound[start:directory]
    path.write_bytes(moved + sound[directory : directory + 16] + struct.pack("<I", start + len(extra)) + b"\0\0")
    with pytest.raises(PackError, match="between its files and its directory"):
        read_wheel(path)


def test_content_that_differs_from_record_is_refused(tmp_path: Path) -> None:
    path = write_wheel(tmp_path, recorded={"tide_pack/__init__.py": b"harmless"})
    with pytest.raises(PackError, match="differs from its RECORD"):
        read_wheel(path)
    path = write_wheel(tmp_path, recorded={"tide_pack/gone.py": b""})
    with pytest.raises(PackError, match="does not hold"):
        read_wheel(path)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("tide_pack-1.4.zip", "no wheel's name"), ("wave-1.4-py3-none-any.whl", "another distribution"),
     ("tide_pack-1.5-py3-none-any.whl", "another distribution")],
)  # fmt: skip
def test_a_file_name_that_says_something_else_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    path = write_wheel(tmp_path).rename(tmp_path / name)
    with pytest.raises(PackError, match=reason):
        read_wheel(path)


@pytest.mark.parametrize("said", ["Wheel-Version: 2.0\n", "Root-Is-Purelib: true\n", b"\xff\xfe\0"])
def test_a_format_that_pip_would_not_install_is_refused(tmp_path: Path, said: str | bytes) -> None:
    with pytest.raises(PackError, match="is a wheel of version"):
        read_wheel(write_wheel(tmp_path, files={f"{INFO}/WHEEL": said}))


def test_a_manifest_of_100_mb_is_not_read(tmp_path: Path) -> None:
    large = MANIFEST.encode() + b"#" * (40 * 1024 * 1024)
    with pytest.raises(PackError, match=r"larger than 256 KiB|a bomb"):
        read_wheel(write_wheel(tmp_path, files={"tide_pack/pack.toml": large}))


def test_what_is_no_file_is_said_to_be_missing(tmp_path: Path) -> None:
    for path in (tmp_path / "x-1-py3-none-any.whl", tmp_path):
        with pytest.raises(PackError):
            read_wheel(path)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_damage_never_raises_anything_else(data: st.DataObject, tmp_path: Path) -> None:
    path = write_wheel(tmp_path / "damaged")
    sound = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(sound) - 1))
        sound[at] = data.draw(st.integers(0, 255))
    path.write_bytes(sound[: data.draw(st.integers(0, len(sound)))] if data.draw(st.booleans()) else sound)
    try:
        read_wheel(path)
    except RemitError as error:
        assert str(error)


def test_a_wheel_that_changed_after_it_was_read_is_not_unpacked(tmp_path: Path) -> None:
    path = write_wheel(tmp_path)
    facts = read_wheel(path)
    write_wheel(tmp_path, files={"tide_pack/__init__.py": "evil = 1\n"})
    with pytest.raises(PackError, match="changed while"):
        unpack_wheel(facts, tmp_path / "out")


def test_an_archive_reads_no_more_than_it_is_asked_to(tmp_path: Path) -> None:
    with Archive(write_wheel(tmp_path)) as archive:
        assert archive.read("tide_pack/pack.toml", 8, cut=True) == MANIFEST.encode()[:8]
        with pytest.raises(PackError, match="larger than"):
            archive.read("tide_pack/pack.toml", 8)
