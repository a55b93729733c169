"""`remit.testing`: a pack's skills through the whole pipeline, with and without cells."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import remit.testing
from remit import testing
from remit.errors import PackError, UnknownPack, UsageError
from remit.testing import Failed, TriedPack
from tests.packaging import build_site, project
from tests.web_servers import plain, serving

PACK = """\
manifest = 1
[pack]
name = "tried"
[settings]
host = "api.example:80"
[permissions]
net = ["${setting.host}", "127.0.0.1:1"]
secrets = ["token"]
fs.read = ["${workspace}/**"]
fs.write = ["${workspace}/**"]
"""
SKILLS = {
    "get": ("read", 'uses = ["net"]'),
    "token": ("read", 'uses = ["secrets"]'),
    "note": ("write", 'uses = ["fs.read", "fs.write"]'),
    "wipe": ("write", 'impact = ["destroy"]\nuses = ["fs.read", "fs.write"]'),
    "where": ("read", ""),
    "twice": ("read", 'after = "tried_pack:hook"'),
    "prints": ("read", ""),
}
CODE = """
import os
import urllib.request

def get(host: str) -> str:
    with urllib.request.urlopen(f"http://{host}/hello", timeout=20) as answer:
        return answer.read().decode()

def token(ctx) -> int:
    return len(ctx.secrets["token"])

def note(text: str, ctx) -> str:
    (ctx.workspace / "note.txt").write_text(text)
    return "kept"

def wipe(ctx) -> str:
    (ctx.workspace / "note.txt").unlink()
    return "gone"

def where() -> int:
    return os.getpid()

def twice(n: int, ctx) -> int:
    ctx.progress(f"doubling {n}")
    return n * 2

def hook(call, result, ctx):
    ctx.follow_up("where")
    return {"doubled": result, "of": call.arguments["n"]}

async def prints() -> None:
    print("printed")
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tried") / "tried_pack"
    folder.mkdir()
    tables = (
        f'[[skill]]\nname = "{name}"\nhandler = "tried_pack:{name}"\neffect = "{effect}"\n{more}\n'
        for name, (effect, more) in SKILLS.items()
    )
    (folder / "pack.toml").write_text(PACK + "".join(tables))
    (folder / "__init__.py").write_text(CODE)
    return folder


@pytest.fixture(scope="module", params=[True, False], ids=["cells", "in this process"])
def pack(request: pytest.FixtureRequest, source: Path) -> Iterator[TriedPack]:
    with testing.pack(source, secrets={"token": "12345"}, cells=request.param) as opened:
        opened.cells = request.param  # type: ignore[attr-defined]
        yield opened


def test_everything_public_is_documented_and_importable() -> None:
    assert [getattr(remit.testing, name).__doc__ is not None for name in remit.testing.__all__]
    assert set(remit.testing.__all__) <= set(dir(remit.testing))
    with pytest.raises(AttributeError, match="nonsense"):
        remit.testing.nonsense  # noqa: B018


def test_the_whole_pipeline_with_post_hook_progress_and_follow_up(pack: TriedPack) -> None:
    pack.progress.clear()
    result = pack.call("twice", n=4)
    assert (result.status, result.value) == ("ok", {"doubled": 8, "of": 4}), result
    assert pack.progress == ["doubling 4"]
    assert [follow_up.skill for follow_up in result.follow_ups] == ["tried.where"]
    assert pack.call("tried__twice", '{"n": "four"}').status == "invalid"
    assert asyncio.run(pack.acall("twice", {"n": 1})).status == "ok"


def test_cells_are_other_processes_and_this_process_is_not(pack: TriedPack) -> None:
    assert (pack.value("where") != os.getpid()) is pack.cells  # type: ignore[attr-defined]
    assert "tried_pack" in sys.modules or pack.cells  # type: ignore[attr-defined]
    assert (pack.call("where").enforcement == {"all rights": "not enforced"}) is not pack.cells  # type: ignore[attr-defined]


def test_secrets_workspace_and_sign_off(pack: TriedPack) -> None:
    assert pack.value("token") == 5
    assert pack.value("note", text="remember") == "kept"
    assert (pack.workspace / "note.txt").read_text() == "remember"
    assert pack.call("wipe").status == "denied" and (pack.workspace / "note.txt").exists()


def test_a_failure_shows_the_packs_own_lines(pack: TriedPack) -> None:
    with pytest.raises(Failed, match=r"(?s)tried.get ended failed.*in get: ") as failure:
        pack.value("get", host="nowhere.example")
    assert "__init__.py:" in str(failure.value)


def test_mistakes_of_a_test_are_named(pack: TriedPack) -> None:
    with pytest.raises(UsageError, match="one mapping, or by name"):
        pack.call("where", {"a": 1}, b=2)
    with pytest.raises(UsageError, match="nothing that a model could write"):
        pack.call("twice", n=object())
    with pytest.raises(UsageError, match="has no skill 'absent'; it has get, token"):
        pack.schema("absent")
    with pytest.raises(UsageError, match="no handle"):
        pack.read("r-000000000000")
    assert pack.call("absent").status == "invalid"


def test_hosts_lead_to_servers_of_the_test_and_nowhere_else(source: Path) -> None:
    with (
        serving(plain()) as port,
        testing.pack(source, secrets={"token": "x"}, net={"api.example:80": f"127.0.0.1:{port}"}) as pack,
    ):
        assert pack.value("get", host="api.example")
        refused = pack.call("get", host="other.example")
        assert "no grant covers it" in refused.text
        seen = [(event.host, event.allowed) for event in pack.network]
        assert seen == [("api.example", True), ("other.example", False)]
    with testing.pack(source, secrets={"token": "x"}) as pack:
        assert "no server of this test stands in for it" in pack.call("get", host="api.example").text


def test_a_server_on_this_machine_is_reached_where_a_setting_names_it(source: Path) -> None:
    with (
        serving(plain()) as port,
        testing.pack(source, settings={"host": f"127.0.0.1:{port}"}, secrets={"token": "x"}) as pack,
    ):
        assert pack.value("get", host=f"127.0.0.1:{port}")


def test_less_can_be_granted_and_a_person_can_sign_off(source: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").touch()
    with testing.pack(source, secrets={"token": "x"}, workspace=tmp_path, approve=True) as pack:
        assert pack.value("wipe") == "gone"
        assert [request.action.skill for request in pack.asked] == ["tried.wipe"]
    (tmp_path / "note.txt").touch()
    grants: dict[str, list[str]] = {"fs.write": []}
    with testing.pack(source, grants=grants, workspace=tmp_path, approve=lambda request: False) as pack:
        assert pack.left_out == ("skill token: its secret token: the environment variable TOKEN is not set",)
        assert pack.skills["note"].right == {"fs.read": ("${workspace}/**",)}
        assert pack.call("wipe").status == "denied"
    with testing.pack(source, secrets={"token": "x"}, read_only=True) as pack:
        assert pack.call("note", text="x").status == "denied"


def test_what_is_printed_is_kept(source: Path) -> None:
    with testing.pack(source, secrets={"token": "x"}) as pack:
        assert pack.value("prints") is None and pack.output == "printed\n"


def test_an_installed_pack_by_name(tmp_path: Path) -> None:
    site = build_site(tmp_path, "remit-clock")
    with testing.pack("clock", paths=[str(site)]) as pack:
        assert pack.value("now")["timezone"] == "UTC"
        assert pack.check().ok


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnknownPack), testing.pack("nosuch", paths=[str(tmp_path)]):
        pass
    with pytest.raises(PackError, match="cannot be imported"), testing.pack(project("raises_at_import")):
        pass
    with pytest.raises(UsageError, match="net needs cells"), testing.pack(".", net={"a:1": "b:2"}, cells=False):
        pass
    net = {"a.example:1": "nowhere"}
    with pytest.raises(UsageError, match="is no server"), testing.pack(project("typed"), net=net):
        pass


def test_without_cells_the_package_is_forgotten_afterwards() -> None:
    with testing.pack(project("typed"), cells=False) as pack:
        assert pack.value("steps", count=1) == 1
        assert sys.modules["remit_test_typed"].__file__ == str(project("typed") / "remit_test_typed" / "__init__.py")
    assert "remit_test_typed" not in sys.modules and str(project("typed")) not in sys.path


def test_a_program_that_has_imported_remit_can_run_pytest_with_warnings_as_errors(tmp_path: Path) -> None:
    """An installed wheel lists every module of Remit beside its plugin, and pytest would rewrite their asserts."""
    from hatchling.builders.wheel import WheelBuilder

    root = Path(__file__).parents[1]
    with zipfile.ZipFile(next(WheelBuilder(str(root)).build(directory=str(tmp_path), versions=["standard"]))) as wheel:
        wheel.extractall(tmp_path / "site")
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import remit, remit_sandbox, pytest\n"
        f"assert remit.__file__.startswith({str(tmp_path)!r})\n"
        "sys.exit(pytest.main(['-q', '-W', 'error', '-p', 'no:cacheprovider', 'test_other.py']))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pytest_plugin_costs_nothing_until_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    program = (
        "import sys, pytest\n"
        "code = pytest.main(['-q', '-W', 'error', '-p', 'no:cacheprovider'])\n"
        "print(code == 0, [name for name in ('remit.testing', 'remit.deployment', 'pydantic', 'asyncio.runners') "
        "if name in sys.modules and not name.startswith('asyncio')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "True []" in done.stdout, done.stdout + done.stderr


@pytest.mark.remit_pack(project("typed"), cells=False)
def test_the_fixture_opens_what_the_mark_says(remit_pack: TriedPack) -> None:
    assert remit_pack.name == "typed" and remit_pack.value("steps", count=1) == 1


@pytest.mark.parametrize(
    ("place", "address"),
    [
        ("127.0.0.1:8000", ("127.0.0.1", 8000)),
        ("http://127.0.0.1:8000", ("127.0.0.1", 8000)),
        ("http://[::1]:8000/", ("::1", 8000)),
        (("127.0.0.1", 8000), ("127.0.0.1", 8000)),
    ],
)
def test_a_server_of_a_test_is_named_by_address_or_url(place: Any, address: tuple[str, int]) -> None:
    from remit.testing.network import _address

    assert _address(place) == address


@pytest.mark.parametrize("place", ["http://127.0.0.1", "http://127.0.0.1:8000/path", "8000", ":8000", ("", 1), 8000])
def test_what_is_no_server_of_a_test_is_refused_with_what_would_be_one(place: Any) -> None:
    from remit.testing.network import only_to

    with pytest.raises(UsageError, match="is no server") as refused:
        only_to({"a.example:80": place})
    assert "http://127.0.0.1:8000" in refused.value.remedy
