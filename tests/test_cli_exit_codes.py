"""Like mistakes end with like exit codes, whichever command meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Home, home


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return home(tmp_path_factory.mktemp("codes"), "good", fixtures=("good",))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["packs", "info", "goood"], "did you mean good?"),
        (["packs", "enable", "goood", "--yes"], "did you mean good?"),
        (["packs", "enable", "good", "--skills", "ad", "--yes"], "did you mean 'add'?"),
        (["packs", "enable", "good", "--set", "nosuch=1", "--yes"], "no such setting"),
        (["call", "good.ad", "{}"], "Did you mean good.add?"),
        (["call", "good.add", "[]"], "object"),
        (["run", "x", "--model", "m", "--dialect", "reakt"], "did you mean react?"),
        (["log", "show", "999"], "there is no record 999"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_misspelt_name_is_wrong_usage(place: Home, arguments: list[str], says: str) -> None:
    before = (place.folder / "remit.toml").read_bytes()
    assert says in place.remit(*arguments, expect=2).err
    assert (place.folder / "remit.toml").read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit"],
        ["call", "good.add", "{}"],
        ["run", "x", "--model", "m"],
        ["log", "list"],
        ["packs", "disable", "good"],
    ],
    ids=" ".join,
)
def test_a_folder_without_a_deployment_is_the_same_failure_everywhere(tmp_path: Path, arguments: list[str]) -> None:
    from tests.in_process import remit

    assert "there is no remit.toml" in remit(*arguments, folder=tmp_path, expect=1).err


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('write = "ask"', 'write = "allow"', 4),
        ("[model]\n", '[model]\nbase_url = "http://127.0.0.1:9/v1"\n', 5),
        ('write = "ask"', 'write = "deny"', 0),
    ],
    ids=["widens", "cannot be ranked", "narrows"],
)
def test_an_edit_stops_commands_by_what_it_does_to_rights(tmp_path: Path, old: str, new: str, code: int) -> None:
    made = home(tmp_path, "good", fixtures=("good",))
    path = made.folder / "remit.toml"
    path.write_text(path.read_text().replace(old, new))
    for arguments in (["call", "good.add", '{"a": 1}'], ["audit"]):
        made.remit(*arguments, expect=code)
