"""What speaks against installing wheels together, judged from the files alone."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from remit.deployment.trust import trust
from remit.errors import PackError, UsageError
from remit.installing.adding import check_names
from remit.installing.closure import Closure, inspect
from remit.installing.fetch import Fetched
from remit.installing.place import Place
from tests.index_parts import new_place, pack_wheel, write_wheel


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """An environment in which nothing is ever installed."""
    return new_place(tmp_path_factory.mktemp("shared"))


def judged(place: Place, asked: Path, *needed: Path, change: tuple[str, ...] = (), yanked: bool = False) -> Closure:
    """Judge a pack and what it needs."""
    fetched = [Fetched(path=asked, requested=True, yanked=yanked)]
    fetched += [Fetched(path=path, requested=False) for path in needed]
    return inspect(place.environment, fetched, change=change)


def refused(place: Place, asked: Path, *needed: Path, change: tuple[str, ...] = ()) -> str:
    """Return what speaks against them."""
    with pytest.raises(PackError) as caught:
        judged(place, asked, *needed, change=change)
    return str(caught.value)


HOSTILE = {
    "a start-up file": ({"moon.pth": "import os"}, "moon 1.0: it installs the start-up file"),
    "a start-up file of the new kind": ({"moon.start": "moon:run"}, "the start-up file"),
    "one by way of its library data": ({"moon-1.0.data/purelib/x.pth": "import os"}, "the start-up file"),
    "one by way of its data files": (
        {"moon-1.0.data/data/lib/python3.11/site-packages/x.pth": "import os"},
        "into Python's own folders",
    ),
    "code by way of its data files": ({"moon-1.0.data/data/lib64/python3/json.py": ""}, "into Python's own folders"),
    "sitecustomize": ({"sitecustomize.py": ""}, "start-up file"),
    "usercustomize": ({"usercustomize/__init__.py": ""}, "start-up file"),
    "a file of Remit": ({"remit/extra.py": ""}, "would replace files of Remit itself"),
    "a path that climbs": ({"../up.py": ""}, "no path below a folder"),
    "an absolute path": ({"/etc/up.py": ""}, "no path below a folder"),
    "a file of its neighbour": ({"remit_tide/__init__.py": ""}, "would both install"),
    "a file that is there": ({"moon-1.0.data/data/pyvenv.cfg": "home = /"}, "belongs to no distribution"),
    "settings of pip": ({"moon-1.0.data/data/pip.conf": "[global]"}, "which pip or Python itself reads"),
    "another distribution": (
        {"moon-1.0.data/purelib/evil-1.0.dist-info/entry_points.txt": "[pydantic]\nx = moon\n"},
        "as if another distribution were installed",
    ),
    "an egg": ({"evil.egg-info/entry_points.txt": "[pydantic]\nx = moon\n"}, "as if another distribution"),
    "a development install": ({"{info}/direct_url.json": "{}"}, "in which pip writes"),
    "a package that is installed in another folder": (
        {"pluggy/__init__.py": ""},
        "brings 'pluggy', a package or module that is installed already (by pluggy)",
    ),
    "a file within such a package": ({"pluggy/more.py": ""}, "brings 'pluggy'"),
    "a module that the host would import": ({"socksio/__init__.py": ""}, "brings the module socksio"),
    "a part of one": ({"opentelemetry/sdk/__init__.py": ""}, "brings the module opentelemetry"),
    "a command that climbs": (
        {"{info}/entry_points.txt": "[console_scripts]\n../lib/python3.11/site-packages/sitecustomize.py = moon:run\n"},
        "which is no name of a file",
    ),
    "a file over one of its own": ({"moon.py": "", "moon-1.0.data/purelib/moon.py": "evil"}, "installed as one file"),
    "a file that is a folder, too": ({"moon/x": "", "moon/x/y": ""}, "a file and the folder of"),
    "the interpreter": ({"moon-1.0.data/scripts/python": "#!python"}, "a command named"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_dependency(what: str, place: Place, tmp_path: Path) -> None:
    files, reason = HOSTILE[what]
    tide = pack_wheel(tmp_path, requires=["moon"])
    assert reason in refused(place, tide, write_wheel(tmp_path, "moon", "1.0", files))
    sound = write_wheel(tmp_path, "moon", "1.0", {"moon/__init__.py": "", "moon-1.0.data/data/share/moon.txt": ""})
    assert [wheel.distribution for wheel in judged(place, tide, sound).wheels] == ["remit-tide", "moon"]


def test_a_hash_that_does_not_fit_and_a_link(place: Place, tmp_path: Path) -> None:
    tide = pack_wheel(tmp_path, requires=["moon"])
    false = write_wheel(tmp_path, "moon", "1.0", {"moon.py": ""}, recorded={"moon.py": b"other"})
    assert "differs from its RECORD" in refused(place, tide, false)
    with zipfile.ZipFile(false) as source:
        data = {name: source.read(name) for name in source.namelist()}
    linked = zipfile.ZipInfo("moon.py")
    linked.external_attr = 0o120777 << 16
    with zipfile.ZipFile(false, "w") as archive:
        for name, content in data.items():
            archive.writestr(linked if name == "moon.py" else name, content)
    assert "link or a special file" in refused(place, tide, false)


def test_every_problem_is_named_at_once(place: Place, tmp_path: Path) -> None:
    tide = pack_wheel(tmp_path, requires=["moon"], groups={"pytest11": {"x": "remit_tide"}})
    why = refused(place, tide, write_wheel(tmp_path, "moon", "1.0", {"a.pth": "", "remit/x.py": ""}))
    assert "also has entry points of group pytest11" in why
    assert "'a.pth'" in why
    assert "files of Remit itself" in why


def test_entry_points_that_others_load_are_pointed_out(place: Place, tmp_path: Path) -> None:
    groups = {group: {"x": "moon"} for group in ("pydantic", "pytest11", "remit.extensions", "flask.commands")}
    moon = write_wheel(tmp_path, "moon", "1.0", {"moon/__init__.py": ""}, groups=groups)
    notes = "\n".join(judged(place, pack_wheel(tmp_path, requires=["moon"]), moon).notes)
    for group in groups:
        assert notes.count(f"group {group}") == 1
    ebb = pack_wheel(tmp_path, "ebb")
    (note,) = judged(place, pack_wheel(tmp_path, requires=["remit-ebb"]), ebb).notes
    assert "a pack of its own, which stays off" in note


def test_commands_that_hide_programs_of_the_system_are_pointed_out(place: Place, tmp_path: Path) -> None:
    tide = pack_wheel(tmp_path, groups={"console_scripts": {"ls": "remit_tide:run", "tide": "remit_tide:run"}})
    notes = judged(place, tide).notes
    assert "remit-tide 1.0: its commands ls would come before programs of this system" in notes


def test_what_is_no_pack_is_not_added(place: Place, tmp_path: Path) -> None:
    groups = {"remit.extensions": {"x": "aurora"}}
    assert "is an extension, not a pack" in refused(
        place, write_wheel(tmp_path, "aurora", "1.0", {"aurora.py": ""}, groups=groups)
    )
    assert "is a library, not a pack" in refused(place, write_wheel(tmp_path, "moon", "1.0", {"moon.py": ""}))


def test_one_that_was_withdrawn_is_pointed_out(place: Place, tmp_path: Path) -> None:
    (note,) = judged(place, pack_wheel(tmp_path), yanked=True).notes
    assert note == "remit-tide 1.0 was withdrawn (yanked) by its publisher"


def test_what_remit_itself_needs_is_never_broken(place: Place, tmp_path: Path) -> None:
    tide = pack_wheel(tmp_path, requires=["simpleeval<0.9"])
    old = write_wheel(tmp_path, "simpleeval", "0.8", {"simpleeval.py": ""})
    why = refused(place, tide, old, change=("simpleeval",))
    assert "remit 0.1.0 requires simpleeval>=1.0.8, and would get 0.8; remit-tide requires simpleeval<0.9" in why
    newer = write_wheel(tmp_path, "simpleeval", "1.9", {"simpleeval.py": ""})
    assert "simpleeval would go from" in refused(place, tide, newer)
    assert judged(place, tide, newer, change=("Simple_Eval".replace("_", ""),)).replaced["simpleeval"]


def test_names_are_checked_before_anything_is_fetched(place: Place) -> None:
    trust(place.folder)
    assert check_names(["remit-calc", "Remit_Weather==1.0", "somebody-else"], place) == []
    (warning,) = check_names(["remit-wether"], place)
    assert warning == "remit-wether looks like remit-weather, a name that is known here: one letter differs"
    assert check_names(["remit-wether"], place, sure=True) == []
    with pytest.raises(UsageError, match=r"U\+0435 cyrillic small letter ie") as caught:
        check_names(["r\u0435mit-calc"], place)
    assert "did you mean remit-calc?" in str(caught.value)
