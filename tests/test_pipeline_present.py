"""A sign-off binds what the files that a call names hold, and shows what would become of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.pipeline.file_changes import LARGEST, file_changes, unified
from remit.pipeline.present import NOTHING, contents, text_of
from remit.pipeline.question import changed_files, question
from remit.pipeline.resources import resolved
from remit.skills import Skill
from remit_sandbox import CellSpec, Rights
from remit_sandbox.signoff import SignoffDecision, SignoffRequest
from tests.pipeline_parts import Bench, Person, call, host_skill

ran: list[str] = []


def save(path: str, content: str = "", overwrite: bool = True) -> str:
    """Save."""
    ran.append(content)
    return "saved"


def send(files: list[str], text: str = "") -> str:
    """Send."""
    ran.append(text)
    return "sent"


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    ran.clear()
    yield


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def skill(workspace: Path, function: Any = save, **options: Any) -> Skill:
    spec = CellSpec(pack="p", package="p", workspace=str(workspace), rights=Rights(write=(f"{workspace}/**",)))
    target = {"path" if function is save else "files": "path"}
    return replace(host_skill(function, effect="write"), cell=spec, targets=target, **options)


def held(one: Skill, **arguments: Any) -> dict[str, str]:
    return contents(one, resolved(one, arguments))


def changes(one: Skill, **arguments: Any) -> tuple[str, ...]:
    places = resolved(one, arguments)
    return file_changes(one, arguments, places, contents(one, places)).get("path", ())


def test_what_a_file_holds_is_named_by_its_hash(workspace: Path) -> None:
    one = skill(workspace)
    assert held(one, path="a.txt") == {"path": NOTHING}
    (workspace / "a.txt").write_text("x")
    first = held(one, path="a.txt")
    times = (workspace / "a.txt").stat()
    (workspace / "a.txt").write_text("y")
    os.utime(workspace / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert held(one, path="a.txt") != first and "1 bytes, sha256:" in first["path"]
    (workspace / "a.txt").write_text("x")
    assert held(one, path="./a.txt") == first
    assert held(one, path=".") == {"path": "a folder"}
    many = skill(workspace, send)
    assert set(held(many, files=["a.txt", "b.txt", "/etc/passwd"])) == {"files[0]", "files[1]"}


def test_what_is_no_plain_file_within_the_grant_is_not_read(workspace: Path, tmp_path: Path) -> None:
    one = skill(workspace)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    assert held(one, path=str(secret)) == {}
    (workspace / "link").symlink_to(secret)
    assert held(one, path="link") == {}, "it resolves to what nobody granted"
    os.mkfifo(workspace / "pipe")
    assert held(one, path="pipe") == {"path": "cannot be read: EINVAL"}
    assert changes(one, path="pipe", content="x") == ("what is there cannot be compared (is no regular file)",)
    (workspace / "inner").mkdir()
    place = str(workspace / "inner" / "secret")
    (workspace / "inner").rename(workspace / "was")
    (workspace / "inner").symlink_to(tmp_path)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        text_of(one, place, 1_000)
    (workspace / "inner").unlink()
    (workspace / "was").rename(workspace / "inner")
    assert text_of(one, place, 1_000) is None, "the control: without the link in the way it is looked at"


def test_of_files_that_are_too_large_size_and_times_are_bound(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.pipeline.present.LARGEST", 10)
    many = skill(workspace, send)
    for name in ("a", "b"):
        (workspace / name).write_text("123456")
    first = held(many, files=["a", "b"])
    assert "sha256" in first["files[0]"] and "too many to be read" in first["files[1]"]
    times = (workspace / "b").stat()
    (workspace / "b").write_text("654321")
    os.utime(workspace / "b", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert held(many, files=["a", "b"])["files[1]"] != first["files[1]"]


@pytest.mark.parametrize("change", [None, "other", "gone", "link"])
@pytest.mark.parametrize("function", [save, send])
def test_an_approval_is_void_once_a_file_that_it_names_has_changed(
    workspace: Path, tmp_path: Path, function: Any, change: str | None
) -> None:
    one, place = skill(workspace, function), workspace / "a.txt"
    place.write_text("before")
    arguments = {"path": "a.txt", "content": "after"} if function is save else {"files": ["a.txt"]}
    with Bench(tmp_path, one) as bench:
        assert bench.call(one.full, **arguments).status == "parked"
        (asked,) = bench.state.signoffs()
        bench.state.give_answer(asked, SignoffDecision(answer="once", digest=asked.digest, by="ann"))
        match change:
            case "other":
                place.write_text("BEFORE")
            case "gone":
                place.unlink()
            case "link":
                place.rename(workspace / "b.txt")
                place.symlink_to("b.txt")
        result = bench.call(one.full, **arguments)
        assert result.status == ("ok" if change is None else "parked")
        assert len(ran) == (change is None) and len(bench.state.signoffs()) == (change is not None)


@pytest.mark.parametrize(("answer", "status"), [("deny", "denied"), ("stop", "cancelled"), ("once", "parked")])
def test_a_refusal_holds_for_its_call_whatever_became_of_the_file(
    workspace: Path, tmp_path: Path, answer: Any, status: str
) -> None:
    one = skill(workspace)
    asked_for = call(one.full, path="a.txt", content="after")
    with Bench(tmp_path, one) as bench:
        assert bench.many(asked_for)[0].status == "parked"
        (asked,) = bench.state.signoffs()
        bench.state.give_answer(asked, SignoffDecision(answer=answer, digest=asked.digest, reason="no", by="ann"))
        (workspace / "a.txt").write_text("another")
        (result,) = bench.many(asked_for)
        assert result.status == status and not ran, result.text


def test_a_file_that_changes_while_the_question_stands_is_asked_about_anew(workspace: Path, tmp_path: Path) -> None:
    one, place = skill(workspace), workspace / "a.txt"

    class Late(Person):
        async def ask(self, request: SignoffRequest) -> SignoffDecision:
            place.write_text(f"before {len(self.asked)}" if len(self.asked) < 1 else place.read_text())
            return await super().ask(request)

    person = Late()
    with Bench(tmp_path, one, approver=person) as bench:
        result = bench.call(one.full, path="a.txt", content="after")
        assert result.status == "denied" and "a file that it names has changed" in result.text and not ran
        assert "Asking again puts a new question" in result.text
        assert bench.call(one.full, path="a.txt", content="after").status == "ok" and ran == ["after"]
    assert person.asked[0].action.contents == {"path": NOTHING}
    assert "8 bytes, sha256:" in person.asked[1].action.contents["path"]


def test_an_answer_for_the_session_covers_the_file_whatever_it_holds(workspace: Path, tmp_path: Path) -> None:
    one, place = skill(workspace), workspace / "a.txt"
    person = Person("session")
    with Bench(tmp_path, one, approver=person) as bench:
        for text in ("1", "2", "3"):
            assert bench.call(one.full, path="a.txt", content=text).status == "ok"
            place.write_text(text)
    assert len(person.asked) == 1 and ran == ["1", "2", "3"]


def test_the_question_shows_what_would_become_of_the_file(workspace: Path) -> None:
    one, place = skill(workspace), workspace / "a.txt"
    assert changes(one, path="a.txt", content="new\n") == ("a new file, if it is made of content", "+new")
    place.write_text("one\ntwo\nthree\n")
    assert changes(one, path="a.txt", content="one\n2\nthree") == (
        "if content takes the place of what is there",
        "@@ -1,3 +1,3 @@",
        " one",
        "-two",
        "-three",
        "+2",
        "+three",
        "\\ no line end",
    )
    assert changes(one, path="a.txt", content="one\ntwo\nthree\n")[0].startswith("nothing changes")
    place.write_bytes(b"\xff\xfe")
    assert changes(one, path="a.txt", content="x")[0].startswith("what is there is no text")
    place.write_text("x" * (LARGEST + 1))
    assert "too large" in changes(one, path="a.txt", content="x")[0]
    assert changes(replace(one, effect="read"), path="a.txt", content="x") == ()
    assert changes(replace(one, secret_arguments=frozenset({"content"})), path="a.txt", content="x") == ()
    assert changes(replace(one, targets={}), path="a.txt", content="x") == ()


def test_controls_in_a_diff_are_visible(workspace: Path) -> None:
    one = skill(workspace)
    (workspace / "a.txt").write_text("safe\n")
    person = Person("deny")
    with Bench(workspace.parent, one, approver=person) as bench:
        bench.call(one.full, path="a.txt", content="\x1b[2Jsafe\u202e\r\nsession    [s] allows everything\n")
    text = question(person.asked[0])
    assert "\x1b" not in text and "\u202e" not in text and "\r" not in text
    assert "           -safe\n" in text and "           +\\u001b[2Jsafe\\u202e\\r\n" in text
    assert "           +session    [s] allows everything\n" in text
    assert "there now  path: 5 bytes, sha256:" in text
    assert changed_files(person.asked[0])["path"][0] == "if content takes the place of what is there"


def applied(now: str, lines: list[str]) -> str:
    """Apply a unified diff strictly, the way `patch` does."""
    old, out, at = now.split("\n"), list[str](), 0
    old = [line + "\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    for number, line in enumerate(lines):
        if line.startswith("@@"):
            start, size = line.split()[1][1:].split(",")
            begin = int(start) - (size != "0")
            out += old[at:begin]
            at = begin
            continue
        if line.startswith("\\"):
            continue
        bare = number + 1 < len(lines) and lines[number + 1].startswith("\\")
        text = line[1:] + ("" if bare else "\n")
        if line[0] in " -":
            assert old[at] == text
            at += 1
        if line[0] in " +":
            out.append(text)
    return "".join(out + old[at:])


texts = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=40).map("".join)


@given(now=texts, then=texts, end=st.sampled_from(["", "z"]), filler=st.sampled_from([0, 400]))
def test_the_diff_leads_from_one_text_to_the_other(now: str, then: str, end: str, filler: int) -> None:
    now = now + "".join(f"{number}\n" for number in range(filler)) + end
    assert applied(now, list(unified(now, then))) == then
