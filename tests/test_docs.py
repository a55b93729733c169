"""What the documents show runs, and says what they say."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from remit.extensions import standing
from remit.extensions.installed import ExtensionInventory, find_extensions
from remit_sandbox.signoff import SignoffDecision, SignoffRequest
from tests import command
from tests.extension_parts import write_extension
from tests.in_process import remit

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("plugins/*/README.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(document: Path, language: str) -> list[str]:
    return [body for name, body in FENCE.findall(document.read_text(encoding="utf-8")) if name == language]


def sessions() -> list[tuple[str, str]]:
    return [
        (document.relative_to(ROOT).as_posix(), body) for document in DOCUMENTS for body in blocks(document, "console")
    ]


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide extensions that a developer has installed: the pages tell of an environment that has none.

    Where none is installed nothing is changed.
    """
    found = find_extensions()
    if found.extensions or found.problems:
        monkeypatch.setattr(standing, "find_extensions", lambda *_: ExtensionInventory())


@pytest.mark.parametrize(("document", "session"), sessions(), ids=lambda value: value[:40])
@pytest.mark.usefixtures("clean")
def test_console_sessions_run_as_shown(document: str, session: str, tmp_path: Path) -> None:
    run = command.remit if document == "README.md" else remit
    if "remit init" not in session:
        run("init", "--yes", "--enforcement", "available", folder=tmp_path)
    commands = re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]
    for shown in commands:
        line, _, expected = shown.partition("\n")
        arguments = shlex.split(line)
        assert arguments[0] == "remit", f"{document}: only remit commands are shown in console blocks"
        extra = ["--enforcement", "available"] if arguments[1] == "init" else []
        extra += ["--yes"] if arguments[1:3] == ["packs", "enable"] and "--yes" not in arguments else []
        ran = run(*arguments[1:], *extra, folder=tmp_path)
        if expected.strip():
            assert expected.strip() in ran.out, (line, ran.out)


def test_an_extension_that_a_developer_has_is_hidden_from_the_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    write_extension(site, "desk", "")
    monkeypatch.syspath_prepend(site)
    assert "desk" in remit("extensions", "list", folder=tmp_path).out
    request.getfixturevalue("clean")
    assert "No extension is installed." in remit("extensions", "list", folder=tmp_path).out


def test_python_examples_of_the_readme_run(tmp_path: Path) -> None:
    programs = [body for body in blocks(ROOT / "README.md", "python") if "import" in body]
    assert programs
    for program in programs:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, env=os.environ
        )
        assert done.returncode == 0, done.stderr
        assert "The sum is 5. answered ['ok']" in done.stdout


def test_the_python_example_of_the_page_on_cells_runs(tmp_path: Path) -> None:
    (program,) = blocks(ROOT / "docs/cells.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, env=os.environ
    )
    assert done.stdout == 'result "HELLO"\n', done.stderr


PRINTED = (
    "It is 36. I said 36. ['36']",
    "local.add 5\nIt is 5.",
    "answered 1",
    "36.0 3",
    "failed Not now (the endpoint is down).",
    "[('ok', ''), ('denied', 'only .txt files')]",
    "parked remit signoff show ",
)
"""What each program of docs/agents.md prints, in part."""


def test_python_examples_of_the_page_on_agents_run(tmp_path: Path) -> None:
    programs = blocks(ROOT / "docs/agents.md", "python")
    folder = tmp_path / "deployment"
    folder.mkdir()
    remit("init", "--yes", "--enforcement", "available", "--packs", "calc,files", folder=folder)
    for program, printed in zip(programs, PRINTED, strict=True):
        (tmp_path / "program.py").write_text(program, encoding="utf-8")
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as out:
            runpy.run_path(str(tmp_path / "program.py"), run_name="__main__")
        assert printed in out.getvalue(), out.getvalue()
    assert (folder / "workspace" / "a.txt").read_text() == "x"


def test_the_page_on_agents_names_every_field_of_a_request() -> None:
    page = (ROOT / "docs/agents.md").read_text(encoding="utf-8")
    for name in {field.name for field in (*fields(SignoffRequest), *fields(SignoffDecision))} - {"nonce"}:
        assert f"`{name}`" in page, name


def test_the_pack_of_the_readme_works_from_an_empty_folder(tmp_path: Path) -> None:
    pack = tmp_path / "remit-greet"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, body in re.findall(r"`([\w/.]+\.(?:toml|py))`(?:[^`\n]*)\n```\w+\n(.*?)^```", readme, re.M | re.S):
        (pack / name).parent.mkdir(parents=True, exist_ok=True)
        (pack / name).write_text(body, encoding="utf-8")
    assert (pack / "src/remit_greet/skills.py").exists()
    (pack / "src/remit_greet/__init__.py").touch()
    tried = remit("packs", "try", "remit-greet", "hello", '{"name": "Ada"}', folder=tmp_path)
    assert "Hello, Ada!" in tried.out


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_in_documents_is_python(document: Path) -> None:
    for body in blocks(document, "python"):
        assert ast.parse(body).body, "an empty example shows nothing"


def test_the_changelog_has_an_unreleased_part() -> None:
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_pack_of_the_readme_is_the_one_in_examples() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files = [path for path in (ROOT / "examples/pack/remit-greet").rglob("*.*") if path.suffix in (".toml", ".py")]
    assert len(files) == 4
    for path in files:
        assert path.read_text(encoding="utf-8") in readme, path


def test_the_embedding_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.host"], cwd=ROOT, capture_output=True, text=True, timeout=60, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    assert "RunEnded\nTrue\n" in done.stdout
    assert "The initials are AL. ['AL'] False" in done.stdout
