"""`remit extensions`: what is installed, switching it on and off, and switching all off."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remit.cli.main import run
from tests.command import Home, bare, home
from tests.extension_parts import Place, make_place, write_extension

RULE = '@hookimpl\ndef add_prompt_fragments(setup):\n    return {"rule": setup.settings.get("rule", "Be brief.")}\n'
ROOT = Path(__file__).parent.parent


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = make_place(tmp_path)
    monkeypatch.syspath_prepend(str(made.site))
    monkeypatch.chdir(made.folder)
    return made


def row_of(name: str, told: dict[str, Any]) -> dict[str, Any]:
    """Return what is told of one extension; a developer may have others installed."""
    (row,) = (row for row in told["extensions"] if row["extension"] == name)
    return dict(row)


def test_enable_shows_asks_and_says_what_it_gives(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.write("house", RULE)
    assert run(["extensions", "enable", "house"]) == 4
    out, err = capsys.readouterr()
    assert "extension house (house-ext 1.0), 3 files" in out and "runs in the host, not confined" in out
    assert "--yes accepts what is shown" in err and "nothing was changed" in err
    assert "[extensions]" not in (place.folder / "remit.toml").read_text()
    assert run(["extensions", "enable", "house", "--set", "rule=Say \x1b[1mno.", "--yes"]) == 0
    assert "enabled house: prompt fragment rule" in capsys.readouterr().out
    assert run(["extensions", "list"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("house "))
    assert line.split() == [
        "house", "house-ext", "1.0", "enabled", "prompt", "fragment", "rule",
    ]  # fmt: skip
    assert run(["extensions", "list", "--json"]) == 0
    row = row_of("house", json.loads(capsys.readouterr().out))
    assert row["state"] == "enabled" and row["reason"] == ""
    assert row["gives"] == [
        {"kind": "prompt fragment", "name": "rule", "from": "house-ext 1.0", "text": "Say \x1b[1mno."}
    ]
    assert run(["extensions", "disable", "house"]) == 0
    assert run(["extensions", "disable", "house"]) == 1
    assert "this deployment enables no extension 'house'" in capsys.readouterr().err


def test_enabling_one_that_fails_says_why(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.write("broken", "raise ValueError('no luck')")
    assert run(["extensions", "enable", "broken", "--yes"]) == 1
    out, err = capsys.readouterr()
    assert "enabled broken: it gives nothing" in out
    assert "left out: extension broken: it raises when it is imported: ValueError: no luck" in err
    assert run(["extensions", "list", "--json"]) == 0
    row = row_of("broken", json.loads(capsys.readouterr().out))
    assert row["state"] == "FAILED" and "ValueError: no luck" in row["details"]


@pytest.mark.parametrize(
    ("break_", "state"),
    [
        ("change", "CHANGED"),
        ("remove", "NOT INSTALLED"),
        ("unlock", "NOT LOCKED"),
        ("block", "blocked"),
        ("off", "not loaded"),
        ("untrust", "not loaded"),
    ],
)
def test_the_list_says_how_each_stands(
    place: Place, break_: str, state: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    from remit.deployment.trust import trust

    root = place.add("house", RULE)
    match break_:
        case "change":
            (root / "more.py").touch()
        case "remove":
            shutil.rmtree(next(place.site.glob("*.dist-info")))
        case "unlock":
            (place.folder / "remit.lock").unlink()
            trust(place.folder)
        case "block":
            place.edit("[extensions]", '[extensions]\nblocked = ["house"]')
        case "off":
            monkeypatch.setenv("REMIT_EXTENSIONS", "off")
        case "untrust":
            with (place.folder / "remit.toml").open("a") as file:
                file.write('\n[host_skills]\nallow = ["local.x"]\n')
    assert run(["extensions", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    row = row_of("house", told)
    assert (row["state"], row["gives"], told["off"]) == (state, [], break_ == "off")
    assert run(["extensions", "list"]) == 0
    out, _ = capsys.readouterr()
    assert state in out


def test_a_deployment_that_does_not_start_is_listed_all_the_same(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("broken", "raise ValueError", required=True)
    assert run(["extensions", "list"]) == 0
    out, err = capsys.readouterr()
    assert "broken" in out and "the deployment does not start: required extension broken" in err


def test_names_and_texts_of_an_extension_cannot_write_to_the_terminal(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("loud", "raise ValueError('\\x1b[2J\\u202eevil')")
    run(["extensions", "list"])
    out, err = capsys.readouterr()
    assert "\x1b[2J" not in out + err and "\u202e" not in out + err and "evil" in err


def test_no_extensions_and_the_variable_switch_all_off(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.add("house", RULE)
    assert run(["audit", "--no-extensions"]) == 0
    assert "note: extensions are off in this run: house" in capsys.readouterr().err
    monkeypatch.setenv("REMIT_EXTENSIONS", "off")
    assert run(["audit"]) == 0
    assert "note: extensions are off in this run: house" in capsys.readouterr().err


def test_what_is_left_out_is_said_by_other_commands_too(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.add("broken", "raise ValueError")
    assert run(["audit"]) == 0
    assert "left out: extension broken: it raises when it is imported" in capsys.readouterr().err


def test_a_wrong_name_is_wrong_usage(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.write("house", RULE)
    assert run(["extensions", "enable", "huose"]) == 2
    assert "did you mean 'house'" in capsys.readouterr().err


def test_a_call_of_the_command_line_reaches_sinks_observers_and_the_channel(tmp_path: Path) -> None:
    made: Home = home(tmp_path, "good", fixtures=("good",))
    code = """
        class Lines:
            def __init__(self, path):
                self.path = path
            def write(self, records):
                with self.path.open("a") as file:
                    file.writelines(record.event + "\\n" for record in records)
            def close(self):
                pass

        class Desk:
            async def ask(self, request):
                from remit_sandbox.signoff import SignoffDecision
                return SignoffDecision(answer="deny", digest=request.digest, reason="not today", by="the desk")

        @hookimpl
        def add_audit_sinks(setup):
            return {"lines": Lines(setup.folder / "log.txt")}

        @hookimpl
        def add_signoff_channels():
            return {"desk": Desk()}

        @hookimpl
        def observe_call_end(call, setup):
            (setup.folder / "ended.txt").write_text(call.status)
    """
    write_extension(Path(made.environment["PYTHONPATH"]), "desk", code)
    made.remit("extensions", "enable", "desk", "--yes")
    made.configure("[extensions]", '[extensions]\nsignoff = "desk"')
    ran = made.remit("call", "good.save", '{"path": "a.txt", "text": "x"}', expect=None)
    assert ran.code == 1 and "not today" in ran.err, ran
    assert (made.folder / "ended.txt").read_text() == "denied"
    assert "signoff.answered" in (made.folder / "log.txt").read_text().split()


def test_without_a_deployment(tmp_path: Path) -> None:
    made = bare(tmp_path)
    write_extension(Path(made.environment["PYTHONPATH"]), "house", RULE)
    ran = made.remit("extensions", "list")
    assert "house" in ran.out and "There is no deployment here" in ran.err


def test_importing_remit_leaves_pluggy_out() -> None:
    program = (
        "import sys, remit, remit.extensions, remit.agent, remit.deployment.deployment\n"
        "print([name for name in ('pluggy',) if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_trio_of_the_examples_runs(tmp_path: Path) -> None:
    import os

    done = subprocess.run(
        [sys.executable, "-m", "examples.trio"], cwd=ROOT, capture_output=True, text=True, timeout=60, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    assert "She is greeted. Hello, Ada Lovelace!\nconfined: True\n" in done.stdout
    assert "audit sink house_log, from house (remit-house 0.1.0)" in done.stdout
    assert "the prompt ends: Answer in one sentence." in done.stdout
    assert "logged: ['call.proposed', 'call.decided', 'call.started', 'call.finished']" in done.stdout
    assert "observed: {'ok': 1}" in done.stdout


def test_apply_locks_what_an_edit_enables(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    root = place.write("house", RULE)
    config = place.folder / "remit.toml"
    config.write_text(config.read_text() + '\n[extensions]\nenabled = ["house"]\nsettings.house.rule = "Be kind."\n')
    assert run(["apply"]) == 4
    out, err = capsys.readouterr()
    assert "+ it was not locked; house-ext 1.0 runs in the host, not confined" in out and "not accepted" in err
    assert run(["apply", "--yes"]) == 0 and run(["apply"]) == 0
    assert "nothing to apply" in capsys.readouterr().out
    with place.open() as deployment:
        assert deployment.extensions.loaded == ("house",)
    (root / "__init__.py").write_text((root / "__init__.py").read_text() + "# changed\n")
    assert run(["apply", "--json"]) == 5
    told = json.loads(capsys.readouterr().out)
    assert told["changes"] == [{"rank": "unranked", "line": "its files changed"}] and not told["applied"]
    with place.open() as deployment:
        assert deployment.extensions.loaded == ()
    assert run(["apply", "--yes"]) == 0 and run(["apply"]) == 0
    assert "nothing to apply" in capsys.readouterr().out


def test_apply_says_which_extension_cannot_be_locked(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.write("house", RULE)
    config = place.folder / "remit.toml"
    config.write_text(config.read_text() + '\n[extensions]\nenabled = ["gone", "house"]\nblocked = ["house"]\n')
    assert run(["apply", "--yes"]) == 0
    assert "left out: extension gone: it is not installed" in capsys.readouterr().err
    lock = place.folder / "remit.lock"
    assert "house" not in (lock.read_text() if lock.exists() else ""), "what is blocked is not locked"


def test_one_that_is_not_locked_can_be_disabled(place: Place) -> None:
    from remit.deployment.trust import trust

    place.write("house", RULE)
    config = place.folder / "remit.toml"
    config.write_text(config.read_text() + '\n[extensions]\nenabled = ["house"]\nsettings.house.rule = "Be kind."\n')
    trust(place.folder)
    assert run(["extensions", "disable", "house", "--yes"]) == 0
    with place.open() as deployment:
        assert deployment.extensions.items == ()
    # Control: settings of what is nowhere are a slip of the pen still.
    place.edit("settings.house.rule", "settings.huose.rule")
    with pytest.raises(Exception, match="settings names 'huose'"):
        place.open()


def test_several_at_once(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("house", "home"):
        place.write(name, RULE.replace("rule", f"rule_{name}"))
    assert run(["extensions", "enable", "house", "home", "--yes", "--set", "rule=x"]) == 2
    assert "one by one" in capsys.readouterr().err
    assert run(["extensions", "enable", "house", "home", "--yes"]) == 0
    with place.open() as deployment:
        assert deployment.extensions.loaded == ("house", "home")
    assert run(["extensions", "disable", "house", "home"]) == 0
    with place.open() as deployment:
        assert deployment.extensions.items == ()


def test_what_is_not_understood_leads_to_the_help_of_the_action(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for line, help_ in (
        ("extensions disable x --no", "remit extensions disable"),
        ("serve token list --zz", "remit serve token list"),
        ("trust --no", "remit trust"),
        ("--no", "remit"),
    ):
        with pytest.raises(SystemExit):
            run(line.split())
        assert f"try: {help_} --help" in capsys.readouterr().err
