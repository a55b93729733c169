"""`remit chat`: commands, and what ends a conversation."""

from __future__ import annotations

import pytest

from tests.command import Home, home
from tests.model_server import serve, text
from tests.terminal import INTERRUPT, on_terminal


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return home(tmp_path_factory.mktemp("chat"), "calc")


def test_an_interrupt_at_the_idle_prompt_ends_nothing(place: Home) -> None:
    with serve([text("Here.")]) as server:
        arguments = ("chat", "--model", "m", "--base-url", server.base_url)
        with on_terminal(*arguments, folder=place.folder, environment=place.environment) as terminal:
            terminal.wait_for("> ")
            terminal.type(INTERRUPT)
            terminal.wait_for("(/quit or Ctrl-D ends the conversation)")
            terminal.wait_for("> ", count=2)
            terminal.type("Still there?\n")
            terminal.wait_for("Here.")
            terminal.type("\x04")
            assert terminal.finish() == 0


def test_commands_are_not_sent_to_the_model(place: Home) -> None:
    with serve([text("A folder.")]) as server:
        ran = place.remit(
            "chat",
            "--model",
            "m",
            "--base-url",
            server.base_url,
            "--session",
            "s-1",
            stdin=b"/help\n/session\n/nosuch\n /etc what is it?\n/quit\nnever asked\n",
        )
    assert ran.out == "A folder.\n"
    assert all(command in ran.err for command in ("/help ", "/session ", "/quit "))
    assert "\ns-1\n" in ran.err and "there is no command /nosuch; /help lists them" in ran.err
    assert [body["messages"][-1]["content"] for body in server.bodies] == ["/etc what is it?"]


def test_a_session_that_is_new_is_said_to_be(place: Home) -> None:
    with serve([text("One."), text("Two.")]) as server:
        arguments = ("chat", "--model", "m", "--base-url", server.base_url, "--session", "new-1")
        assert "there is no session new-1 yet" in place.remit(*arguments, stdin=b"a\n").err
        assert "there is no session" not in place.remit(*arguments, stdin=b"a\n").err
