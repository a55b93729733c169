"""`remit trust`: a deployment does nothing until a person has accepted it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.command import Home, home


def cloned(tmp_path: Path) -> Home:
    """Return a copy of a deployment on a machine that has not seen it."""
    made = home(tmp_path, "good", fixtures=("good",))
    copy = tmp_path / "clone"
    shutil.copytree(made.folder, copy)
    return Home(folder=copy, environment=made.environment)


def test_nothing_runs_until_it_is_accepted(tmp_path: Path) -> None:
    made = cloned(tmp_path)
    for arguments in (["call", "good.add", '{"a": 1}'], ["audit"], ["run", "x", "--model", "m"], ["chat"]):
        ran = made.remit(*arguments, expect=1)
        assert "nobody has accepted it" in ran.err and "remit trust" in ran.err, ran.err
        assert ran.out == ""
    made.remit("trust", "--yes")
    assert made.remit("call", "good.add", '{"a": 1}').out == "1.0\n"


def test_it_shows_what_is_accepted_and_asks(tmp_path: Path) -> None:
    made = cloned(tmp_path)
    ran = made.remit("trust", expect=1)
    assert "good" in ran.out and "nobody is there to agree" in ran.err and "not accepted" in ran.err
    made.remit("call", "good.add", '{"a": 1}', expect=1)


def test_a_digest_accepts_exactly_these_files(tmp_path: Path) -> None:
    made = cloned(tmp_path)
    digest = made.remit("trust", "--show").out.strip()
    assert digest.startswith("sha256:")
    wrong = made.remit("trust", "--digest", "sha256:" + "0" * 64, expect=None)
    assert wrong.code in (1, 2) and digest in wrong.err
    machine = {"REMIT_TRUST": digest}
    assert made.remit("call", "good.add", '{"a": 1}', environment=machine).out == "1.0\n"
    made.remit("call", "good.add", '{"a": 1}', expect=1)
    assert made.remit("trust", "--digest", digest).out == f"accepted {digest}\n"
    assert made.remit("call", "good.add", '{"a": 1}').out == "1.0\n"
    assert "accepted already" in made.remit("trust").out


def test_an_edit_that_narrows_needs_no_new_trust_and_one_that_widens_does(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good",))
    path = made.folder / "remit.toml"
    text = path.read_text()
    path.write_text(text.replace('write = "ask"', 'write = "deny"'))
    assert made.remit("call", "good.add", '{"a": 1}').out == "1.0\n"
    path.write_text(text.replace('write = "ask"', 'write = "allow"'))
    ran = made.remit("call", "good.add", '{"a": 1}', expect=4)
    assert "write" in ran.err and "remit apply" in ran.err
