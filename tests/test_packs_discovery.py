"""Discovery: what counts as a pack, what is refused and why; nothing is ever imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.errors import PackError
from remit.packs.discovery import discover, fold
from remit.packs.distribution import Refused, parse_entry_points
from remit.packs.installed import Inventory, PackProblem
from remit.packs.sites import import_paths
from tests.dist_info import write_editable, write_pack
from tests.packaging import build_site, project


def _site(tmp_path: Path, name: str = "site-packages") -> Path:
    folder = tmp_path / name
    folder.mkdir(parents=True)
    return folder


def _only_problem(inventory: Inventory) -> PackProblem:
    assert not inventory.packs
    assert len(inventory.problems) == 1, inventory.problems
    return inventory.problems[0]


def _imported(folder: Path) -> list[Path]:
    return list(folder.rglob("IMPORTED"))


def test_a_pack_is_found_without_being_imported(tmp_path: Path) -> None:
    site = _site(tmp_path)
    root = write_pack(site, files={"skills.py": "x = 1\n", "data/table.csv": "1\n"})
    found = discover([str(site)])
    pack = found.packs["tide"]
    assert (pack.distribution, pack.version, pack.package) == ("tide-pack", "1.4", "tide_pack")
    assert (pack.root, pack.manifest, pack.editable, pack.location) == (root, root / "pack.toml", False, str(site))
    assert "tide_pack/data/table.csv" in pack.files
    assert found.problems == ()
    assert not _imported(tmp_path)


def test_real_wheels_are_found(tmp_path: Path) -> None:
    site = build_site(tmp_path, "good", "slow", "no_manifest", "raises_at_import")
    found = discover([str(site)])
    assert {"good", "slow"} <= set(found.packs)
    assert "raises" in " ".join(found.packs)
    problem = next(problem for problem in found.problems if "no-manifest" in fold(problem.distribution))
    assert "has no pack.toml" in problem.reason
    assert "package-data" in problem.remedy


def test_discovery_imports_neither_pydantic_nor_importlib_metadata(tmp_path: Path) -> None:
    site = _site(tmp_path)
    write_pack(site)
    code = (
        "import sys; from remit.packs.discovery import list_packs; from pathlib import Path;"
        f"assert list_packs([{str(site)!r}], index=Path({str(tmp_path / 'index')!r})).packs;"
        "print([name for name in ('pydantic', 'importlib.metadata', 'packaging', 'tomllib') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_a_working_directory_gives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloned = _site(tmp_path, "cloned")
    write_pack(cloned)
    monkeypatch.chdir(cloned)
    monkeypatch.setattr(sys, "path", ["", str(cloned), "."])
    assert discover().packs == {}
    assert str(cloned) not in import_paths()
    monkeypatch.chdir(tmp_path)
    assert list(discover().packs) == ["tide"]
    assert import_paths() == (str(cloned),)


def test_a_folder_with_the_packs_name_on_an_earlier_path_is_said(tmp_path: Path) -> None:
    site, early = _site(tmp_path), _site(tmp_path, "early")
    write_pack(site)
    (early / "tide_pack").mkdir()
    assert list(discover([str(early), str(site)]).packs) == ["tide"]
    (early / "tide_pack" / "__init__.py").write_text("")
    assert "hides its package" in _only_problem(discover([str(early), str(site)])).reason


@pytest.mark.parametrize("module", ["tide_pack.py", "tide_pack.cpython-311-x86_64-linux-gnu.so"])
def test_a_module_with_the_packs_name_on_an_earlier_path_is_said(tmp_path: Path, module: str) -> None:
    site, early = _site(tmp_path), _site(tmp_path, "early")
    write_pack(site)
    (early / module).write_text("")
    assert "hides its package" in _only_problem(discover([str(early), str(site)])).reason
    assert list(discover([str(site), str(early)]).packs) == ["tide"]


def test_a_shadowed_copy_gives_nothing_and_is_said(tmp_path: Path) -> None:
    first, second = _site(tmp_path, "first"), _site(tmp_path, "second")
    write_pack(first, version="1.0")
    write_pack(second, distribution="Tide.pack", version="2.0", package="newer_pack")
    found = discover([str(first), str(second)])
    assert found.packs["tide"].version == "1.0"
    assert "is hidden by the one in" in found.problems[0].reason


def test_two_spellings_of_one_folder_are_one(tmp_path: Path) -> None:
    lib = _site(tmp_path, "lib")
    write_pack(lib)
    (tmp_path / "lib64").symlink_to(lib)
    found = discover([str(tmp_path / "lib64"), str(lib), str(lib) + "/"])
    assert list(found.packs) == ["tide"]
    assert found.problems == ()


def test_two_copies_in_one_folder_are_refused(tmp_path: Path) -> None:
    site = _site(tmp_path)
    write_pack(site, version="1.0")
    write_pack(site, version="2.0")
    found = discover([str(site)])
    assert not found.packs
    assert all("2 copies" in problem.reason for problem in found.problems)


def test_two_distributions_with_one_pack_name_load_only_when_told(tmp_path: Path) -> None:
    site = _site(tmp_path)
    write_pack(site, distribution="tide-one", package="tide_one")
    write_pack(site, distribution="tide-two", package="tide_two")
    found = discover([str(site)])
    assert not found.packs
    assert len(found.problems) == 2
    assert 'from = "tide-one"' in found.problems[0].remedy
    chosen = discover([str(site)], sources={"tide": "Tide_Two"})
    assert chosen.packs["tide"].distribution == "tide-two"
    assert chosen.problems == ()
    assert not discover([str(site)], sources={"tide": "tide-three"}).packs


def test_two_distributions_with_one_package_do_not_load(tmp_path: Path) -> None:
    site = _site(tmp_path)
    write_pack(site, "one", package="shared_pack")
    write_pack(site, "two", package="shared_pack")
    found = discover([str(site)])
    assert not found.packs
    assert "both install the package shared_pack" in found.problems[0].reason


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ({"remit.packs": {"tide": "tide_pack"}, "pydantic": {"x": "tide_pack"}}, "group pydantic"),
        ({"remit.packs": {"tide": "tide_pack"}, "pytest11": {"x": "tide_pack"}}, "group pytest11"),
        ({"remit.packs": {"tide": "tide_pack"}, "gui_scripts": {"x": "tide_pack:x"}}, "group gui_scripts"),
        ({"remit.packs": {"tide": "tide_pack.inner"}}, "not a top-level package"),
        ({"remit.packs": {"tide": "tide_pack:PACK"}}, "no package name"),
        ({"remit.packs": {"tide": "../tide_pack"}}, "not a top-level package"),
        ({"remit.packs": {"tide": "token"}}, "comes from the standard library"),
        ({"remit.packs": {"tide": "remit"}}, "Remit itself"),
        ({"remit.packs": {"tide": "class"}}, "no package name"),
        ({"remit.packs": {"tide": "tide_pack", "ebb": "tide_pack"}}, "2 entry points"),
        ({"remit.packs": {}}, "0 entry points"),
        ({"remit.packs": {"Tide": "tide_pack"}}, "no pack name"),
        ({"remit.packs": {"tide-pack": "tide_pack"}}, "no pack name"),
        ({"remit.packs": {"ti__de": "tide_pack"}}, "no pack name"),
        ({"remit.packs": {"t" * 25: "tide_pack"}}, "no pack name"),
        ({"remit.packs": {"t\u0456de": "tide_pack"}}, "no pack name"),
        ({"remit.packs": {"tide": "t\u0456de_pack"}}, "no package name"),
        ({"remit.packs": {"remit": "tide_pack"}}, "reserved"),
        ({"remit.packs": {"tide": "tide_pack"}, "console_scripts": {"remit": "tide_pack:x"}}, "command named"),
        ({"remit.packs": {"tide": "tide_pack"}, "console_scripts": {"python3": "tide_pack:x"}}, "command named"),
        ({"remit.packs": {"tide": "tide_pack"}, "console_scripts": {"tide": "os:system"}}, "outside its package"),
    ],
)
def test_entry_points_that_are_refused(tmp_path: Path, groups: dict[str, dict[str, str]], reason: str) -> None:
    site = _site(tmp_path)
    write_pack(site, groups=groups)
    problem = _only_problem(discover([str(site)]))
    assert reason in problem.reason
    assert str(problem).isascii()


def test_own_commands_are_allowed(tmp_path: Path) -> None:
    site = _site(tmp_path)
    groups = {"remit.packs": {"tide": "tide_pack"}, "console_scripts": {"tide": "tide_pack:run"}}
    write_pack(site, groups=groups, extra=["../../../bin/tide,,"])
    assert list(discover([str(site)]).packs) == ["tide"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("../../../bin/other", "leads out of its folder"),
        ("../../etc/passwd", "leads out of its folder"),
        ("tide_pack/../other/x.py", "leads out of its folder"),
        ("tide_pack/./x.py", "leads out of its folder"),
        ("/etc/passwd", "leads out of its folder"),
        ("tide_pack\\..\\x.py", "leads out of its folder"),
        ("tide.pth", "start-up file"),
        ("tide.start", "start-up file"),
        ("sitecustomize.py", "start-up file"),
        ("usercustomize/__init__.py", "start-up file"),
        ("other_pack/__init__.py", "outside its package"),
        ("other.py", "outside its package"),
        ("other-1.0.dist-info/METADATA", "outside its package"),
        ("tide_pack.py", "single module"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, line: str, reason: str) -> None:
    site = _site(tmp_path)
    write_pack(site, extra=[f'"{line}",,'])
    write_pack(site, "other_one")
    found = discover([str(site)])
    assert list(found.packs) == ["other_one"]
    assert reason in found.problems[0].reason


@pytest.mark.parametrize("line", ["tide_pack.libs/libx.so", "tide_pack/weights.pth", "tide_pack/__pycache__/x.pyc"])
def test_files_that_are_allowed(tmp_path: Path, line: str) -> None:
    site = _site(tmp_path)
    write_pack(site, extra=[f"{line},,"])
    assert line in discover([str(site)]).packs["tide"].files


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ("", "version unknown (METADATA empty)"),
        ("Name: tide-pack\n\nVersion: 1\n", "version unknown (METADATA incomplete)"),
        ("Name: other\nVersion: 1\n", "names another distribution"),
        ("Name: t\u0456de\nVersion: 1\n", "plain ASCII"),
    ],
)
def test_broken_metadata_leaves_only_that_pack_out(tmp_path: Path, metadata: str, reason: str) -> None:
    site = _site(tmp_path)
    write_pack(site, metadata=metadata)
    (site / "left-1.0.dist-info").mkdir()
    (site / "left-1.0.dist-info" / "METADATA").write_text("")
    write_pack(site, "ebb")
    found = discover([str(site)])
    assert list(found.packs) == ["ebb"]
    assert reason in found.problems[0].reason


def test_a_pack_without_record_or_files_is_named(tmp_path: Path) -> None:
    site = _site(tmp_path)
    write_pack(site, record=False)
    assert "no RECORD" in _only_problem(discover([str(site)])).reason
    root = write_pack(_site(tmp_path, "two"))
    (root / "__init__.py").unlink()
    assert "reinstall" in _only_problem(discover([str(tmp_path / "two")])).remedy


def test_a_forgotten_manifest_is_named_with_the_fix(tmp_path: Path) -> None:
    site = _site(tmp_path)
    root = write_pack(site, manifest=None)
    (root / "pack.toml").write_text("put there by somebody else")
    problem = _only_problem(discover([str(site)]))
    assert "tide_pack has no pack.toml" in problem.reason
    assert 'tide_pack = ["pack.toml"]' in problem.remedy


def test_a_package_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    site = _site(tmp_path)
    root = write_pack(site)
    root.rename(tmp_path / "elsewhere")
    root.symlink_to(tmp_path / "elsewhere")
    assert "files are not at" in _only_problem(discover([str(site)])).reason


def test_an_editable_install_is_found_in_its_project(tmp_path: Path) -> None:
    site, home = tmp_path / "site-packages", tmp_path / "project"
    root = write_editable(site, home)
    pack = discover([str(site), str(home / "src")]).packs["tide"]
    assert pack.editable
    assert (pack.root, pack.source, pack.files) == (root, home, ())
    assert pack.location == str(home / "src")
    assert not _imported(tmp_path)


def test_a_real_editable_wheel_is_found_in_its_project(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    source, site = project("good"), tmp_path / "site-packages"
    wheel = next(WheelBuilder(str(source)).build(directory=str(tmp_path), versions=["editable"]))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    info = next(site.glob("*.dist-info"))
    (info / "direct_url.json").write_text(json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}}))
    pack = discover([str(site)]).packs["good"]
    assert pack.editable
    assert pack.root == source / "remit_test_good"


@pytest.mark.parametrize(
    ("loader", "reason"),
    [
        ("import _editable_impl_tide\n", "import hook"),
        ("# a note\nimport\tos\n", "import hook"),
        ("/nowhere/at/all\n", "not where its .pth file says"),
        ("", "not where its .pth file says"),
    ],
)
def test_editable_installs_that_are_refused(tmp_path: Path, loader: str, reason: str) -> None:
    site = tmp_path / "site-packages"
    write_editable(site, tmp_path / "project", loader=loader)
    problem = _only_problem(discover([str(site)]))
    assert reason in problem.reason
    assert problem.remedy
    assert not _imported(tmp_path)


def test_an_editable_install_stays_within_its_project(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    write_editable(site, tmp_path / "project", source=tmp_path / "proj")
    assert "leads out of the project" in _only_problem(discover([str(site)])).reason


@pytest.mark.parametrize(
    "text",
    ["not json", "[]", '{"dir_info": {"editable": true}}', '{"url": "https://h/x", "dir_info": {"editable": 1}}'],
)
def test_broken_direct_urls_are_refused(tmp_path: Path, text: str) -> None:
    site = tmp_path / "site-packages"
    write_editable(site, tmp_path / "project")
    (next(site.glob("*.dist-info")) / "direct_url.json").write_text(text)
    assert "direct_url.json" in _only_problem(discover([str(site)])).reason


def test_odd_paths_are_passed_over(tmp_path: Path) -> None:
    site = _site(tmp_path)
    write_pack(site)
    (tmp_path / "some.zip").write_bytes(b"PK")
    (site / "~ide_pack-1.3.dist-info").mkdir()
    (site / "bare.dist-info").mkdir()
    odd = ["", str(tmp_path / "absent"), str(tmp_path / "some.zip"), "\0", str(site)]
    assert list(discover(odd).packs) == ["tide"]


def test_files_that_are_no_files_are_passed_over(tmp_path: Path) -> None:
    site = _site(tmp_path)
    write_pack(site)
    info = next(site.glob("*.dist-info"))
    (info / "METADATA").unlink()
    os.mkfifo(info / "METADATA")
    assert "METADATA empty" in _only_problem(discover([str(site)])).reason
    (info / "entry_points.txt").unlink()
    (info / "entry_points.txt").mkdir()
    assert discover([str(site)]).problems == ()


def test_a_huge_entry_point_file_is_refused(tmp_path: Path) -> None:
    site = _site(tmp_path)
    write_pack(site)
    with (next(site.glob("*.dist-info")) / "entry_points.txt").open("r+b") as file:
        file.truncate(100 * 1024 * 1024)
    assert "larger than" in _only_problem(discover([str(site)])).reason


def test_a_thousand_packs_are_listed_and_none_runs(tmp_path: Path) -> None:
    site = _site(tmp_path)
    for number in range(1000):
        write_pack(site, f"p{number}")
    found = discover([str(site)])
    assert len(found.packs) == 1000
    assert list(found.packs) == sorted(found.packs)
    assert not _imported(tmp_path)


def test_names_are_compared_after_folding(tmp_path: Path) -> None:
    site = _site(tmp_path)
    write_pack(site, "tide_table")
    found = discover([str(site)])
    assert found.get("Tide.Table").name == found.get("tide-table").name == "tide_table"
    for alias in ("tide_tables", "tide-table-pack", "tide_table_pack"):
        with pytest.raises(PackError, match="did you mean tide_table"):
            found.get(alias)
    with pytest.raises(PackError, match=r"no pack named 'zzz' is installed \(next: remit packs list"):
        found.get("zzz")


def test_a_refused_pack_is_explained_when_it_is_asked_for(tmp_path: Path) -> None:
    site = _site(tmp_path)
    write_pack(site, manifest=None)
    with pytest.raises(PackError, match=r"has no pack\.toml") as caught:
        discover([str(site)]).get("tide")
    assert "package-data" in caught.value.remedy


@given(st.text(max_size=300))
@settings(max_examples=200)
def test_parsing_entry_points_never_raises_but_refusal(text: str) -> None:
    try:
        groups = parse_entry_points(text)
    except Refused:
        return
    assert all(isinstance(value, str) for entries in groups.values() for value in entries.values())


@pytest.mark.parametrize("name", ["entry_points.txt", "METADATA", "RECORD", "direct_url.json", "../_tide.pth"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.binary(max_size=80) | st.text(max_size=80).map(lambda text: text.encode("utf-8")))
def test_a_broken_file_leaves_at_most_its_own_pack_out(tmp_path: Path, name: str, data: bytes) -> None:
    site = tmp_path / "site-packages"
    if not site.exists():
        write_editable(site, tmp_path / "project")
        write_pack(site, "ebb")
    target = next(site.glob("tide*.dist-info")) / name
    before = target.read_bytes()
    for text in (data, before + data, data + before):
        target.write_bytes(text)
        found = discover([str(site)])
        assert "ebb" in found.packs
        assert len(found.packs) + len(found.problems) <= 2
    target.write_bytes(before)
    assert list(discover([str(site)]).packs) == ["ebb", "tide"]


@pytest.mark.parametrize("url", ["file:///a%00b", "file://elsewhere/a", "file:relative"])
def test_odd_urls_of_editable_installs_are_problems(tmp_path: Path, url: str) -> None:
    site = tmp_path / "site-packages"
    write_editable(site, tmp_path / "project")
    text = f'{{"url": "{url}", "dir_info": {{"editable": true}}}}'
    (next(site.glob("*.dist-info")) / "direct_url.json").write_text(text)
    assert not discover([str(site)]).packs


def test_an_odd_line_of_a_pth_file_is_a_problem(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    write_editable(site, tmp_path / "project", loader="/a\0b\n")
    assert "names a folder that cannot be" in _only_problem(discover([str(site)])).reason


def test_every_pth_file_of_an_editable_install_is_judged(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    write_editable(site, tmp_path / "project")
    assert list(discover([str(site)]).packs) == ["tide"]
    (site / "late.pth").write_text("import os\n")
    with (next(site.glob("*.dist-info")) / "RECORD").open("a") as record:
        record.write("late.pth,,\n")
    assert "import hook" in _only_problem(discover([str(site)])).reason
    (site / "late.pth").write_text("\n" * 100_000)
    assert "cannot be" in _only_problem(discover([str(site)])).reason
