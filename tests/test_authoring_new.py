"""`remit packs new` and `remit packs schema`: a pack that works as it is written."""

from __future__ import annotations

import json
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from remit.authoring.new import check_name, new_pack
from remit.cli.main import run
from remit.errors import UsageError
from tests.command import bare
from tests.packaging import build_wheel


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project, _ = new_pack("tide_table", tmp_path_factory.mktemp("new"))
    return project


def test_its_wheel_is_enabled_and_called_elsewhere(made: Path, tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    wheel = Path(next(WheelBuilder(str(made)).build(directory=str(tmp_path / "dist"), versions=["standard"])))
    home = bare(tmp_path)
    with zipfile.ZipFile(wheel) as file:
        assert "remit_tide_table/pack.toml" in file.namelist() and "remit_tide_table/py.typed" in file.namelist()
        file.extractall(home.environment["PYTHONPATH"])
    home.remit("init", "--yes", "--enforcement", "available")
    shown = home.remit("packs", "enable", "tide_table", "--yes").out
    assert "no files, no network, no programs, no secrets" in shown
    told = home.remit("call", "tide_table.count_words", '{"text": "Ebb and flow and ebb", "top": 1}', "--json").json
    assert told["result"] == {"words": 5, "different": 3, "most": [{"word": "ebb", "times": 2}]}


def test_every_file_is_written_once_and_without_left_over_words(made: Path) -> None:
    names = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert {"pyproject.toml", "README.md", ".gitignore", "src/remit_tide_table/pack.toml"} <= names
    for name in names:
        text = (made / name).read_text(encoding="utf-8")
        assert "{{" not in text and "}}" not in text, name
    assert (files("remit.authoring") / "template" / "pyproject.toml.in").is_file()


def test_nothing_is_overwritten(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["packs", "new", "tide_table", "--dir", str(made.parent)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert run(["packs", "new", "swell", "--dir", str(made.parent), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["project"] == str(made.parent / "remit-swell") and "pyproject.toml" in told["files"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Tide-Pack", "such as tide_pack"),
        ("remit", "reserved"),
        ("local", "reserved"),
        ("sandbox", "reserved"),
        ("remit_tide", "reserved"),
        ("calc", "taken for the pack calc"),
        ("ca1c", "taken for the pack calc"),
        ("we_ather", "taken for the pack weather"),
        ("\uff54ide", "is no pack name"),
        ("t\u0456de", "is no pack name"),
        ("tide__table", "such as tide_table"),
        ("x" * 25, "at most 24 characters"),
        ("", "is no pack name"),
        ("../tide", "is no pack name"),
    ],
)
def test_names_that_cannot_be_used(name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        new_pack(name, tmp_path)
    assert says in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["tide", "tide_table", "x2", "a" * 24])
def test_names_that_can(name: str) -> None:
    check_name(name)


def schema(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run(["packs", "schema", *arguments]) == code
    return capsys.readouterr()


def test_the_schema_is_what_a_request_holds(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tool,) = json.loads(schema(capsys, str(made), "--json").out)
    assert (tool["type"], tool["function"]["name"]) == ("function", "tide_table__count_words")
    parameters = tool["function"]["parameters"]
    assert parameters["required"] == ["text"] and set(parameters["properties"]) == {"text", "top", "letters"}
    assert json.loads(schema(capsys, str(made), "count_words").out) == [tool]
    (now,) = json.loads(schema(capsys, str(build_wheel("remit-clock")), "--json").out)
    assert now["function"]["name"] == "clock__now"
    told = schema(capsys, str(made), "--dialect", "react").out
    assert "Action: tide_table__count_words" in told
    assert json.loads(schema(capsys, str(made), "--dialect", "tagged", "--json").out)["dialect"] == "tagged"


def test_mistakes_about_a_schema_are_named(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the pack has no skill 'cuont'; it has: count_words" in schema(capsys, str(made), "cuont", code=2).err
    told = schema(capsys, str(made), "--dialect", "raect", code=2).err
    assert "there is no dialect 'raect'; did you mean react?" in told
    assert "no pack named 'nosuch' is installed" in schema(capsys, "nosuch", code=2).err
