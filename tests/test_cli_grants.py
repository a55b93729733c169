"""Session grants on the command line, over real HTTP: proposed, parked, edited elsewhere, gone on with, shown."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

from tests.in_process import Here
from tests.model_server import ModelServer, calls, serve, text

PROPOSED = ("remit__enable_skills", {"skills": ["files.delete_file", "files.write_file"]})
SAVE = ("files__write_file", {"path": "a.txt", "content": "hi"})
READING = ["files__list_files", "files__read_file", "files__search"]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    made = Here(place=tmp_path_factory.mktemp("grants")).make("files")
    file = made.folder / "remit.toml"
    file.write_text(file.read_text().replace('write = "ask"', 'write = "allow"\nsession_grants = "proposed"'))
    made.remit("trust", "--yes")
    return made


def speaking(server: ModelServer) -> tuple[str, ...]:
    return ("--model", "m", "--base-url", server.base_url)


def offered(server: ModelServer, turn: int) -> list[str]:
    return sorted(tool["function"]["name"] for tool in server.bodies[turn]["tools"])


def test_a_list_waits_is_edited_and_holds(here: Here) -> None:
    with serve([calls(PROPOSED), calls(SAVE), text("Saved.")]) as server:
        ran = here.remit("run", "Save hi in a.txt.", "--session", "s1", *speaking(server), expect=3)
        assert offered(server, 0) == ["remit__enable_skills"]
        assert server.bodies[0]["tool_choice"]["function"]["name"] == "remit__enable_skills"
        shown = here.remit("sessions", "show", "s1")
        assert "proposed and not confirmed: files.delete_file, files.write_file" in shown.out
        (asked,) = here.remit("signoff", "list", "--json").json
        assert f"next: remit signoff show {asked['id'][:12]}, and then approve or deny it" in ran.err
        whole = here.remit("signoff", "show", asked["id"])
        assert "files.delete_file: write, destroy" in whole.out and "fs.write ${workspace}/**" in whole.out
        fewer = ("--arguments", '{"skills": ["files.write_file"]}')
        refused = here.remit("signoff", "edit", asked["id"], "--arguments", '{"skills": ["files.search"]}', expect=2)
        assert "must be one of" in refused.err
        here.remit("signoff", "edit", asked["id"], *fewer, "--digest", asked["digest"])
        assert here.remit("sessions", "resume", "s1", *speaking(server)).out == "Saved.\n"
        assert offered(server, 1) == [*READING, "files__write_file"]
    assert (here.folder / "workspace/a.txt").read_text() == "hi"
    assert "beside what reads it has: files.write_file" in here.remit("sessions", "show", "s1").out
    here.remit("log", "verify")
    facts = here.remit("sessions", "show", "s1", "--json").json
    assert facts["granted"] == ["files.write_file"] and len(facts["proposed"]) == 2


def test_a_person_chooses_and_adds(here: Here) -> None:
    with serve([text("a"), text("b"), text("c")]) as server:
        grant = ("--grant", "files.move_file")
        here.remit("run", "Tidy up", "--session", "s2", *grant, *speaking(server))
        here.remit("run", "And?", "--session", "s2", "--grant", "files.write_file", *speaking(server))
        unknown = here.remit("run", "And?", "--grant", "files.wipe", *speaking(server), expect=2)
        assert "no skill 'files.wipe'" in unknown.err
        assert offered(server, 0) == sorted([*READING, "files__move_file"])
        assert offered(server, 1) == sorted([*READING, "files__move_file", "files__write_file"])
        typed = b"/grant\n/grant files.wipe\n/grant files.write_file\nSave it\n/quit\n"
        talk = here.remit("chat", *speaking(server), stdin=typed)
        assert "which skill?" in talk.err and "files.wipe" in talk.err and "from your next question on" in talk.err
        assert offered(server, 2) == sorted([*READING, "files__write_file"])


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs/policy.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    example, out = tmp_path / "example.py", io.StringIO()
    example.write_text(program)
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(example))
    assert out.getvalue() == "['local__note']\n"


def test_a_person_is_told_that_the_session_lacks_what_the_model_wants(here: Here) -> None:
    nothing = ("remit__enable_skills", {"skills": []})
    with serve([calls(nothing), calls(SAVE), text("I cannot."), calls(nothing), text("So be it.")]) as server:
        ran = here.remit("run", "Save hi in a.txt.", "--session", "s10", *speaking(server))
        assert "note: the model called files.write_file" in ran.err and 'session_grants = "proposed"' in ran.err
        assert "next: ask again with --grant files.write_file --session s10" in ran.err
        ran = here.remit("run", "Save hi in a.txt.", "--session", "s11", *speaking(server))
        assert "note: the model proposed no skill that changes things" in ran.err
    with serve([text("Done.")]) as server:
        ran = here.remit("run", "Save", "--session", "s10", "--grant", "files.write_file", *speaking(server))
        assert "note: the model" not in ran.err
