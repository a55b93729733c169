"""The command line on a real terminal: colours, moving signs, the sign-off question, the conversation."""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.command import Home, home
from tests.model_server import calls, serve, text
from tests.terminal import INTERRUPT, Terminal, on_terminal

ASKS = "(Enter denies): "


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return home(tmp_path_factory.mktemp("terminal"), "good", "slow", "files", fixtures=("good", "slow"))


def write(name: str) -> list[str]:
    return ["call", "files.write_file", f'{{"path": "{name}", "content": "x"}}']


def test_colours_go_to_terminals_only(place: Home) -> None:
    with on_terminal("packs", "list", folder=place.folder, environment=place.environment) as terminal:
        assert terminal.finish() == 0
    assert "\x1b[1mpack" in terminal.shown
    assert "\x1b" not in place.remit("packs", "list").out


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_switched_off(place: Home, variable: dict[str, str]) -> None:
    environment = {**place.environment, **variable}
    with on_terminal("call", "good.add", "[]", folder=place.folder, environment=environment) as terminal:
        assert terminal.finish() == 2
    assert "invalid: " in terminal.shown and "\x1b" not in terminal.shown


def test_a_file_gets_the_result_without_colours(place: Home, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    arguments = ("call", "good.add", '{"a": 1}')
    with on_terminal(*arguments, folder=place.folder, environment=place.environment, stdout=out) as terminal:
        assert terminal.finish() == 0
    assert out.read_text() == "1.0\n"


def test_a_long_wait_shows_that_something_goes_on(place: Home) -> None:
    with serve([text("Done.", delay=2.5)]) as server:
        arguments = ("run", "Hello", "--model", "m", "--base-url", server.base_url)
        with on_terminal(*arguments, folder=place.folder, environment=place.environment) as terminal:
            assert terminal.finish() == 0
        quiet = place.remit(*arguments)
    assert re.search(r"\r[|/\\-] step 1: the model thinks \d s", terminal.shown)
    assert "\r" not in quiet.out + quiet.err


def test_allowing_once_lets_exactly_this_call_run(place: Home) -> None:
    with on_terminal(*write("once.txt"), folder=place.folder, environment=place.environment) as terminal:
        shown = terminal.wait_for(ASKS)
        assert "sign-off needed: files.write_file" in shown
        assert '"once.txt"' in shown
        assert not (place.workspace / "once.txt").exists()
        terminal.type("a\n")
        assert terminal.finish() == 0
    assert (place.workspace / "once.txt").read_text() == "x"


@pytest.mark.parametrize("typed", ["\n", "d\n\n", "\x04"], ids=["enter", "d", "end of file"])
def test_anything_but_a_clear_yes_denies(place: Home, typed: str) -> None:
    with on_terminal(*write("never.txt"), folder=place.folder, environment=place.environment) as terminal:
        terminal.wait_for(ASKS)
        terminal.type(typed)
        assert terminal.finish() == 1
    assert "denied: Denied by a person" in terminal.text
    assert not (place.workspace / "never.txt").exists()


def test_a_reason_reaches_the_result(place: Home) -> None:
    with on_terminal(*write("why.txt"), folder=place.folder, environment=place.environment) as terminal:
        terminal.wait_for(ASKS)
        terminal.type("d use another name\n")
        assert terminal.finish() == 1
    assert "use another name" in terminal.text.rpartition("denied: ")[2]


def test_what_must_be_asked_apart_is_not_asked_on_this_terminal(tmp_path: Path) -> None:
    made = home(tmp_path, "files")
    with (made.folder / "remit.toml").open("a") as file:
        file.write('\n[[rule]]\nid = "apart"\nverdict = "ask-apart"\nmatch = { skill = "files.write_file" }\n')
    made.remit("trust", "--yes")
    with on_terminal(*write("apart.txt"), folder=made.folder, environment=made.environment) as terminal:
        assert terminal.finish() == 3
    assert "sign-off needed" not in terminal.text
    assert "parked: " in terminal.text
    assert not (made.workspace / "apart.txt").exists()


def test_a_question_through_a_pipe_still_finds_the_person(place: Home) -> None:
    with serve([calls(("files__write_file", {"path": "piped.txt", "content": "x"})), text("Written.")]) as server:
        arguments = ("run", "-", "--model", "m", "--base-url", server.base_url)
        with on_terminal(*arguments, folder=place.folder, environment=place.environment, stdin="write it") as terminal:
            terminal.wait_for(ASKS)
            terminal.type("a\n")
            assert terminal.finish() == 0
    assert "Written." in terminal.text
    assert (place.workspace / "piped.txt").exists()


def test_chat_goes_on_in_one_session(place: Home) -> None:
    with serve([text("Hello Ada."), text("Ada.")]) as server:
        with chatting(place, server.base_url) as terminal:
            terminal.wait_for("> ")
            terminal.type("I am Ada.\n")
            terminal.wait_for("Hello Ada.")
            terminal.wait_for("> ", count=2)
            terminal.type("\nWho am I?\n")
            terminal.wait_for("Ada.", count=3)
            terminal.type("/quit\n")
            assert terminal.finish() == 0
        said = [message["content"] for message in server.bodies[1]["messages"] if message["role"] != "system"]
    assert said == ["I am Ada.", "Hello Ada.", "Who am I?"]
    assert re.search(r"remit chat --session \w+ goes on with this conversation", terminal.text)


def test_an_interrupt_stops_the_turn_and_not_the_conversation(place: Home) -> None:
    with serve([text("Never.", delay=30), text("Here.")]) as server, chatting(place, server.base_url) as terminal:
        terminal.wait_for("> ")
        terminal.type("Hello?\n")
        terminal.wait_for("the model thinks")
        terminal.type(INTERRUPT)
        terminal.wait_for("stopped; the session is saved")
        terminal.type("Still there?\n")
        terminal.wait_for("Here.")
        terminal.type("\x04")
        assert terminal.finish() == 0


def chatting(place: Home, base_url: str) -> AbstractContextManager[Terminal]:
    arguments = ("chat", "--model", "m", "--base-url", base_url)
    return on_terminal(*arguments, folder=place.folder, environment=place.environment)


def test_init_asks_and_takes_answers(tmp_path: Path) -> None:
    environment = {"REMIT_STATE": str(tmp_path / "state")}
    folder = tmp_path / "deployment"
    folder.mkdir()
    with on_terminal("init", "--enforcement", "available", folder=folder, environment=environment) as terminal:
        terminal.wait_for("workspace [workspace]: ")
        terminal.type("files\n")
        terminal.wait_for("endpoint (")
        terminal.type("http://127.0.0.1:9/v1\n")
        terminal.wait_for("\nmodel")
        terminal.type("tiny\n")
        terminal.wait_for("packs to enable")
        terminal.type("calc\n")
        terminal.wait_for("Make this? [y/N] ")
        assert not (folder / "remit.toml").exists()
        terminal.type("y\n")
        assert terminal.finish() == 0
    written = (folder / "remit.toml").read_text()
    assert 'workspace = "files"' in written and '"tiny"' in written and "[packs.calc]" in written


def test_enable_asks_and_no_changes_nothing(place: Home) -> None:
    before = (place.folder / "remit.toml").read_bytes()
    with on_terminal("packs", "enable", "calc", folder=place.folder, environment=place.environment) as terminal:
        terminal.wait_for("Enable calc? [y/N] ")
        terminal.type("\n")
        assert terminal.finish() == 4
    assert "nothing was changed" in terminal.text
    assert (place.folder / "remit.toml").read_bytes() == before


def test_a_person_at_a_prompt_may_interrupt(place: Home) -> None:
    with on_terminal("packs", "enable", "calc", folder=place.folder, environment=place.environment) as terminal:
        terminal.wait_for("Enable calc? [y/N] ")
        terminal.type(INTERRUPT)
        assert terminal.finish() == 130
    assert "Traceback" not in terminal.text


def test_a_slow_call_shows_that_something_goes_on(place: Home) -> None:
    arguments = ("call", "slow.patient", '{"steps": 1, "pause": 2.5}')
    with on_terminal(*arguments, folder=place.folder, environment=place.environment) as terminal:
        assert terminal.finish() == 0
    assert re.search(r"\r[|/\\-] slow.patient \d s", terminal.shown)
    assert "\r" not in place.remit(*arguments).err


def test_a_call_is_edited_where_it_is_asked_about_and_the_file_shown(place: Home, tmp_path: Path) -> None:
    """`?`, then `e` with an editor, then `a`: the file is as the person wrote it, and who called it is told."""
    program = tmp_path / "editor"
    program.write_text('#!/bin/sh\nsed -i s/zwei/TWO/ "$1"\n')
    program.chmod(0o755)
    written = place.folder / "workspace" / "edited.txt"
    written.write_text("one\ntwo\n")
    arguments = json.dumps({"path": "edited.txt", "content": "one\nzwei\x1b[2J\n", "overwrite": True})
    environment = {**place.environment, "VISUAL": str(program)}
    with on_terminal("call", "files.write_file", arguments, folder=place.folder, environment=environment) as terminal:
        terminal.wait_for(ASKS)
        terminal.type("?\n")
        terminal.wait_for(ASKS, count=2)
        terminal.type("e\n")
        terminal.wait_for(ASKS, count=3)
        terminal.type("a\n")
        assert terminal.finish() == 0
    first, second = terminal.text.split("--- sign-off needed")[1:]
    assert "there now  path: 8 bytes, sha256:" in first and "@@ -1,2 +1,2 @@" in first
    assert "           -two\n           +zwei\\u001b[2J\n" in first and "Nothing runs before" in first
    assert "           +TWO\\u001b[2J\n" in second and "[s] session" not in second
    assert 'became "one\\nTWO\\u001b[2J\\n"' in second
    assert written.read_text() == "one\nTWO\x1b[2J\n"
