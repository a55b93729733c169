"""What a person attaches keeps the labels that its file has."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.agent import Agent
from remit.errors import UsageError
from remit.loop.sources import Sources
from remit.loop.summaries import labels_of
from remit.loop.transcript import Transcript
from remit.models.scripted import ScriptedModel
from remit.state.store import State
from tests.in_process import Here
from tests.model_server import calls, serve, text

SECRET = "the account of ann holds nine thousand and twelve crowns in all"


@pytest.mark.parametrize("given", [(), ("private",)])
def test_an_attachment_has_its_labels_also_in_a_session_that_was_saved(given: tuple[str, ...]) -> None:
    transcript = Transcript()
    transcript.question("Look", attached=[SECRET], labels=given)
    saved = Transcript.from_json(transcript.to_json())
    source = Sources().follow(saved.messages).rests_on(SECRET, "untrusted")
    assert source is not None and source.labels == {"untrusted", *given}
    assert labels_of(saved.messages) == {"untrusted", *given}


def test_there_are_two_labels() -> None:
    with Agent(model=ScriptedModel(["Yes."])) as agent:
        with pytest.raises(UsageError, match="there is no label 'secret'"):
            agent.run("Is it?", attached=["x"], attached_labels=["secret"])
        assert agent.run("Is it?", attached=["x"], attached_labels="private").answer == "Yes."


def test_a_file_that_is_attached_brings_its_labels(tmp_path: Path) -> None:
    here = Here(place=tmp_path).make("files")
    here.edit('write = "ask"', 'write = "allow"\nprovenance = "targets"')
    here.remit("trust", "--yes")
    (here.folder / "workspace/plain.txt").write_text(SECRET)
    (here.folder / "workspace/link.txt").symlink_to("plain.txt")
    further = ("files__write_file", {"path": "further.txt", "content": SECRET})
    found = []
    for name in ("plain.txt", "link.txt"):
        with serve([calls(further), text("Done.")]) as server:
            speaking = ("--model", "m", "--base-url", server.base_url)
            here.remit("run", "Go on with it", "--attach", f"workspace/{name}", *speaking)
        found.append(labels(here, here.folder / "workspace/further.txt"))
        (here.folder / "workspace/further.txt").unlink()
        label(here, here.folder / "workspace/plain.txt")
    assert found == [{"untrusted"}, {"private", "untrusted"}], "the first is the control"


def labels(here: Here, file: Path) -> frozenset[str]:
    with state_of(here) as state:
        return state.labels_of_files([str(file)])


def label(here: Here, file: Path) -> None:
    """Do what a call does that writes something private into a file."""
    with state_of(here) as state:
        state.label_files([str(file)], ["private"])


def state_of(here: Here) -> State:
    (file,) = (here.place / "state").rglob("state.db")
    return State(file.parent)
