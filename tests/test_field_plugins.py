"""Cases from the field, area `plugins`: what package managers and plugin hosts got wrong. `HOLDS` is the table."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.deployment.applying import propose_apply
from remit.deployment.deployment import Deployment
from remit.deployment.enable import disable, enable
from remit.deployment.init import init
from remit.errors import DeploymentError, UnknownPack
from remit.packs.discovery import discover
from remit.packs.lock import lock_pack
from remit.packs.locked import Lock
from remit.packs.lockfile import format_lock, parse_lock
from remit.packs.manifest import read_manifest
from remit.pipeline.pipeline import Pipeline
from remit.state.store import State
from remit.values import Call
from remit_sandbox import Sandbox
from tests.dist_info import CODE, write_editable, write_pack

HOLDS = {
    "E04": "an editable install is one pack, and its lock is the same each time",
    "E05": "site folders are compared by device and inode, so two spellings are one",
    "E09": "tests/test_packs_index.py: a listing of 1,000 packs comes from an index; none is imported",
    "E10": "packs are looked for when a deployment is opened, and never again for a call",
    "E12": "names are folded; switching off a pack that nobody knows is an error",
    "E18": "a dotted entry point is refused with the reason: a manifest lies beside a top-level package",
    "E20": "a pack is named by its entry point; its package or distribution leads to it",
    "E21": "what is installed and not enabled gives nothing and is not imported",
    "E22": "a required pack that cannot load stops the start; a failed post-hook withholds its result",
    "E23": "the host imports none of the libraries that packs share with it before they are used",
    "E24": "files that are alike everywhere are hashed apart from compiled ones, which are locked per wheel tag",
    "E25": "locking again keeps what other machines locked of the same files, and other packs byte for byte",
    "E26": "tests/test_installing_closure.py: pack and host are resolved together before anything is installed",
    "E27": "broken metadata of others is not read; of a pack it is a reason, and the start goes on",
    "E28": "the working directory is no place for packs, and a cell imports from the locked folder",
    "E29": "a package with the name of a standard module is refused",
    "E33": "a misspelt name is an error with file, line and the nearest name",
    "E35": "an update that adds a skill leaves the old ones at work; only the new one waits",
}

SKILL = '[[skill]]\nname = "{name}"\nhandler = "tide_pack:run"\neffect = "read"\n'
HEAD = 'manifest = 1\n[pack]\nname = "tide"\n'
RUN = 'def run() -> str:\n    """Run."""\n    return "ran"\n'


def test_every_case_is_in_the_table() -> None:
    lines = (Path(__file__).parent / "data" / "field_plugins.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["id"] for line in lines} == set(HOLDS)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "deployment"
    place.mkdir()
    init(place, enforcement="available").apply()
    return place


def written(folder: Path, text: str) -> None:
    with (folder / "remit.toml").open("a") as file:
        file.write(text)


def test_e04_an_editable_install_is_one_pack(tmp_path: Path, site: Path) -> None:
    write_editable(site, tmp_path / "project")
    (tmp_path / "project" / "src" / "tide_pack.egg-info").mkdir()
    found = discover([str(site), str(tmp_path / "project" / "src")])
    assert list(found.packs) == ["tide"] and found.packs["tide"].editable and not found.problems
    pack = found.packs["tide"]
    locks = {format_lock(Lock(packs={"tide": lock_pack(pack, read_manifest(pack.manifest), {})})) for _ in range(2)}
    assert len(locks) == 1 and "editable = true" in locks.pop()


def test_e05_two_spellings_of_one_folder(tmp_path: Path, site: Path) -> None:
    write_pack(site)
    (tmp_path / "lib64").symlink_to(site)
    found = discover([str(site), str(tmp_path / "lib64")])
    assert list(found.packs) == ["tide"] and found.problems == ()


COUNT = """
import asyncio, os, sys
from remit.deployment.deployment import Deployment
from remit.pipeline.pipeline import Pipeline
from remit.state.store import State
from remit.values import Call
site, seen = sys.argv[1], []
sys.addaudithook(lambda event, args: seen.append(args) if event in ("os.scandir", "os.listdir") and args
                 and str(args[0]).startswith(site) else None)
with Deployment.open(".", paths=[site]) as deployment, State(deployment.state_folder) as state:
    pipeline = Pipeline(skills=deployment.skills, rules=deployment.rules, state=state, sandbox=deployment.sandbox)
    async def calls():
        for number in range(10):
            call = Call(id=str(number), skill="tide.run", arguments="", session="s")
            assert (await pipeline.call(call)).status == "ok"
            if number == 0:
                seen.clear()
    asyncio.run(calls())
print(len(seen))
"""


def test_e10_calls_look_for_no_packs(folder: Path, site: Path, sandbox: Sandbox) -> None:
    write_pack(site, manifest=HEAD + SKILL.format(name="run"), files={"__init__.py": RUN})
    enable(folder, "tide", paths=[str(site)], sandbox=sandbox).apply()
    done = subprocess.run(
        [sys.executable, "-c", COUNT, str(site)], cwd=folder, capture_output=True, text=True, timeout=100
    )
    assert done.stdout == "0\n", done.stderr


def test_e12_switching_off_is_a_safety_statement(folder: Path, site: Path, sandbox: Sandbox) -> None:
    write_pack(site, "tide_wave", package="tide_wave")
    enable(folder, "tide-wave", paths=[str(site)], sandbox=sandbox).apply()
    disable(folder, "Tide.Wave").apply()
    with Deployment.open(folder, paths=[str(site)]) as deployment:
        assert not deployment.skills
    written(folder, "\n[packs.tide-waves]\nenabled = false\n")
    with pytest.raises(DeploymentError, match=r"remit\.toml:\d+ names pack 'tide_waves'.*did you mean 'tide_wave'"):
        Deployment.open(folder, paths=[str(site)], require_trust=False)


def test_e18_a_namespace_package_is_refused_with_the_reason(site: Path) -> None:
    write_pack(site, groups={"remit.packs": {"tide": "acme.tide"}})
    (problem,) = discover([str(site)]).problems
    assert "not a top-level package" in problem.reason and "pack.toml" in problem.remedy


def test_e20_other_names_of_a_pack_lead_to_it(site: Path) -> None:
    write_pack(site, distribution="acme-tide")
    found = discover([str(site)])
    assert found.get("tide").distribution == "acme-tide"
    for name in ("tide_pack", "acme-tide"):
        with pytest.raises(UnknownPack, match="did you mean tide"):
            found.get(name)


def test_e21_what_is_not_enabled_is_inert(folder: Path, site: Path) -> None:
    root = write_pack(site)
    with Deployment.open(folder, paths=[str(site)]) as deployment:
        assert not deployment.skills and not deployment.problems
    assert not (root / "IMPORTED").exists() and CODE in (root / "__init__.py").read_text()


def test_e22_what_is_required_stops_the_start(folder: Path, site: Path, sandbox: Sandbox) -> None:
    root = write_pack(site)
    enable(folder, "tide", paths=[str(site)], sandbox=sandbox, required=True).apply()
    with Deployment.open(folder, paths=[str(site)]):
        pass
    (root / "pack.toml").write_text("broken")
    with pytest.raises(DeploymentError, match="required pack tide"):
        Deployment.open(folder, paths=[str(site)])


def test_e22_a_result_is_withheld_when_its_post_hook_fails(folder: Path, site: Path, sandbox: Sandbox) -> None:
    hook = 'def hook(call, result):\n    raise RuntimeError("no")\n'
    table = SKILL.format(name="run") + 'after = "tide_pack:hook"\n'
    write_pack(site, manifest=HEAD + table, files={"__init__.py": RUN + hook})
    enable(folder, "tide", paths=[str(site)], sandbox=sandbox).apply()
    with Deployment.open(folder, paths=[str(site)]) as deployment, State(deployment.state_folder) as state:
        pipeline = Pipeline(skills=deployment.skills, rules=deployment.rules, state=state, sandbox=deployment.sandbox)
        result = asyncio.run(pipeline.call(Call(id="1", skill="tide.run", arguments="", session="s")))
    assert result.status == "failed" and "ran" not in result.text.split() and "post-hook did not" in result.text


def test_e23_a_broken_library_of_a_pack_does_not_reach_the_host(tmp_path: Path) -> None:
    for name in ("simpleeval", "RestrictedPython", "msgpack"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('too old')\n")
    done = subprocess.run(
        [sys.executable, "-m", "remit", "packs", "list"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr


def test_e24_e25_a_lock_holds_for_several_machines(site: Path) -> None:
    root = write_pack(site, files={"fast.so": "linux"})
    (wheel,) = site.glob("*.dist-info")
    (wheel / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
    write_pack(site, "other")
    found = discover([str(site)])
    manifest = read_manifest(root / "pack.toml")
    here = lock_pack(found.packs["tide"], manifest, {})
    other = lock_pack(found.packs["other"], read_manifest(found.packs["other"].manifest), {})
    (root / "fast.so").write_text("mac")
    (wheel / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp311-cp311-macosx_11_0_arm64\n")
    both = lock_pack(discover([str(site)]).packs["tide"], manifest, {}, before=here)
    assert (both.files, set(both.compiled)) == (
        here.files,
        {"cp311-cp311-linux_x86_64", "cp311-cp311-macosx_11_0_arm64"},
    )
    before = format_lock(Lock(packs={"tide": here, "other": other}))
    after = format_lock(parse_lock(before).with_pack("tide", both))
    lines = [line for line in before.splitlines() if line.startswith("packs.other.")]
    assert lines == [line for line in after.splitlines() if line.startswith("packs.other.")]
    assert set(before.splitlines()) <= set(after.splitlines())


def test_e27_broken_metadata(site: Path) -> None:
    write_pack(site, metadata="")
    left = site / "left-1.dist-info"
    left.mkdir()
    (left / "METADATA").write_bytes(b"")
    (problem,) = discover([str(site)]).problems
    assert problem.pack == "tide" and problem.reason == "version unknown (METADATA empty)"


def test_e28_the_working_directory_gives_no_pack(
    folder: Path, site: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pack(site, manifest=HEAD + SKILL.format(name="run"), files={"__init__.py": RUN})
    enable(folder, "tide", paths=[str(site)], sandbox=sandbox).apply()
    (folder / "tide_pack").mkdir()
    (folder / "tide_pack" / "__init__.py").write_text(RUN.replace("ran", "hijacked"))
    monkeypatch.chdir(folder)
    with Deployment.open(folder, paths=[str(site)]) as deployment:
        skill = deployment.skills["tide.run"]
        assert skill.cell is not None and skill.cell.location == str(site)
        with deployment.sandbox.borrow(skill.cell, "s") as cell:
            reply = cell.request("call", {"handler": skill.handler, "arguments": b"{}", "context": {}}, timeout=20)
    assert reply.text == b'"ran"'


def test_e29_the_name_of_a_standard_module(site: Path) -> None:
    write_pack(site, "one", package="test")
    write_pack(site, "two", package="token")
    reasons = {problem.reason for problem in discover([str(site)]).problems}
    assert reasons == {f"module {name} comes from the standard library" for name in ("test", "token")}


def test_e33_a_misspelt_pack_is_named_with_its_line(folder: Path, site: Path) -> None:
    write_pack(site)
    written(folder, "\n[packs.tides]\nenabled = true\n")
    with Deployment.open(folder, paths=[str(site)], require_trust=False) as deployment:
        (problem,) = deployment.problems
    line = (folder / "remit.toml").read_text().splitlines().index("[packs.tides]") + 1
    assert "did you mean 'tide'" in problem.reason and f"remit.toml:{line}" in problem.reason


def test_e35_an_update_that_adds_a_skill(folder: Path, site: Path, sandbox: Sandbox) -> None:
    old = HEAD + '[permissions]\nnet = ["api.example.org:443"]\n' + SKILL.format(name="old")
    root = write_pack(site, manifest=old, files={"__init__.py": RUN})
    enable(folder, "tide", paths=[str(site)], sandbox=sandbox).apply()
    (root / "pack.toml").write_text(old + SKILL.format(name="new") + 'uses = ["net"]\n')
    found = propose_apply(folder, paths=[str(site)], sandbox=sandbox)
    assert found.waiting == ("tide.new",) and found.changes.exit_code == 4
    found.apply_safe()
    with Deployment.open(folder, paths=[str(site)]) as deployment:
        assert list(deployment.skills) == ["tide.old"]
        assert [problem.reason for problem in deployment.problems] == ["skill new: it is not locked"]
