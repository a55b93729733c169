"""`remit serve` and its tokens, as a person uses them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from remit.cli.main import run
from remit.http import LocalKey, Tokens
from remit.state.store import State
from remit.state_folder import find_state
from tests.http_parts import bearer
from tests.model_server import Play, calls, serve, text

WRITE = {"path": "a.txt", "content": "x"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A deployment without packs, in a state of its own."""
    folder = tmp_path_factory.mktemp("serve")
    before = os.environ.get("REMIT_STATE")
    os.environ["REMIT_STATE"] = str(folder / "state")
    (folder / "deployment").mkdir()
    assert run(["init", "--yes", "--enforcement", "available", "-C", str(folder / "deployment")]) == 0
    yield folder / "deployment"
    os.environ.pop("REMIT_STATE") if before is None else os.environ.update(REMIT_STATE=before)


@pytest.fixture(autouse=True)
def here(place: Path, monkeypatch: pytest.MonkeyPatch, private_state: Path) -> None:
    monkeypatch.setenv("REMIT_STATE", str(place.parent / "state"))
    monkeypatch.chdir(place)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_end(place: Path, how: signal.Signals) -> None:
    command = [sys.executable, "-m", "remit", "serve", "--port", "0"]
    server = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found and str(place) in line, line
        with httpx2.Client(base_url=found[0], timeout=60, trust_env=False) as client:
            answer = client.get("/health")
            assert answer.json()["status"] == "ok" and "server" not in answer.headers
            assert client.get("/signoffs").status_code == 401, "what comes from this machine may come through a proxy"
            key = bearer(_printed(["serve", "key"]))
            assert client.get("/signoffs", headers=key).json() == {"signoffs": []}
            assert client.get("/signoffs", headers={**key, "host": "evil.example"}).status_code == 403
            assert client.get("/signoffs", headers={**key, "x-forwarded-for": "192.0.2.7"}).status_code == 403
        server.send_signal(how)
        _, err = server.communicate(timeout=60)
    finally:
        server.kill()
        server.communicate()
    assert server.returncode == 0 and "Traceback" not in err
    assert "ended; what was under way is saved" in err


def _printed(arguments: list[str]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(arguments) == 0
    return out.getvalue().strip()


def test_the_key_is_the_accounts_alone_and_another_one_ends_it(place: Path) -> None:
    first, again = _printed(["serve", "key"]), _printed(["serve", "key", "-C", str(place)])
    found = find_state(place)
    assert found is not None and first == again and first.startswith("remit_here_")
    file = found.path / "serve-key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.read_text() == first
    key = LocalKey(found.path)
    assert key.fits(first) and not key.fits("") and not key.fits(first[:-1])
    second = json.loads(_printed(["serve", "key", "--new", "--json"]))["key"]
    assert key.fits(second) and not key.fits(first)
    file.unlink()
    assert not key.fits("") and not key.fits(second)


def test_two_programs_that_need_the_key_first_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, other, made = LocalKey(tmp_path / "state"), LocalKey(tmp_path / "state"), []
    found = LocalKey._kept

    def meanwhile(self: LocalKey) -> str:
        kept = found(self)
        if self is key and not made:
            made.append(other.value())
        return kept

    monkeypatch.setattr(LocalKey, "_kept", meanwhile)
    assert key.value() == made[0] and key.fits(made[0])


@pytest.mark.parametrize("broken", ["", "remit_here_", "remit_here_short", "a word"])
def test_a_key_that_is_damaged_admits_nobody_and_is_made_anew(tmp_path: Path, broken: str) -> None:
    key = LocalKey(tmp_path)
    (tmp_path / "serve-key").write_text(broken)
    assert not key.fits(broken) and key.fits(key.value())


@contextmanager
def serving(folder: Path, token: str) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client]]:
    command = [sys.executable, "-m", "remit", "serve", "--port", "0"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        (url,) = re.findall(r"http://\S+", server.stdout.readline())
        with httpx2.Client(base_url=url, headers=bearer(token), timeout=90, trust_env=False) as client:
            yield server, client
    finally:
        server.kill()
        server.communicate()


def test_what_one_process_parked_another_goes_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes, a real endpoint, and the one that parked the run is killed before it goes on."""

    def speak(body: Any) -> Play:
        said = body["messages"][-1]
        return text("It is written.") if said["role"] == "tool" else calls(("files__write_file", WRITE))

    monkeypatch.setenv("REMIT_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    with serve(speak) as endpoint:
        model = ["--model", "m", "--base-url", endpoint.base_url]
        assert run(["init", "--yes", "--enforcement", "available", "--packs", "files", *model]) == 0
        token = Tokens(found.path).add("ada") if (found := find_state(tmp_path)) else ""
        with serving(tmp_path, token) as (first, one), serving(tmp_path, token) as (_, two):
            session = one.post("/runs", json={"question": "Write a.txt."}).json()["session"]
            (waiting,) = two.get("/signoffs").json()["signoffs"]
            answer = {"digest": waiting["digest"], "answer": "once"}
            assert two.post(f"/signoffs/{waiting['id']}/decision", json=answer).json()["state"] == "approved"
            first.kill()
            first.wait()
            assert not (tmp_path / "workspace" / "a.txt").exists()
            assert two.post(f"/sessions/{session}/resume").json()["answer"] == "It is written."
            assert two.get(f"/signoffs/{waiting['id']}").json()["outcome"]["status"] == "ok"
            assert (tmp_path / "workspace" / "a.txt").read_text() == "x"
            assert two.post(f"/sessions/{session}/resume").status_code == 409


def test_other_machines_need_tokens(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[str] = []
    monkeypatch.setattr("remit.cli.serve._run", lambda _, listening, key: (served.append("yes"), listening.close()))
    assert run(["serve", "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "there are no tokens" in capsys.readouterr().err and not served
    assert run(["serve", "token", "add", "ada"]) == 0
    assert run(["serve", "--host", "0.0.0.0", "--port", "0"]) == 0
    assert served == ["yes"]
    assert run(["serve", "token", "remove", "ada"]) == 0
    for host in ("127.0.0.1", "localhost", "::1"):
        assert run(["serve", "--host", host, "--port", "0"]) == 0, host


def test_a_port_that_is_taken_is_named_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run(["serve", "--port", port]) == 2
        assert f"port {port} of 127.0.0.1 cannot be had" in capsys.readouterr().err
    assert run(["serve", "--port", "70000"]) == 2
    assert run(["serve", "--host", "no.such.name.invalid"]) == 2


def test_tokens_are_made_listed_and_removed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "token", "list"]) == 0
    assert "there are no tokens" in capsys.readouterr().out
    assert run(["serve", "token", "add", "grace", "--role", "approver", "-C", str(place)]) == 0
    shown = capsys.readouterr()
    token = shown.out.strip()
    assert token.startswith("remit_") and "cannot be shown again" in shown.err
    assert run(["serve", "token", "list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["roles"]) == ("grace", ["approver"])
    assert run(["serve", "token", "list"]) == 0
    assert "grace  approver" in capsys.readouterr().out
    assert run(["serve", "token", "add", "Grace"]) == 2, "nobody can tell them apart"
    assert run(["serve", "token", "add", "../grace"]) == 2
    assert run(["serve", "token", "remove", "grace"]) == 0
    assert run(["serve", "token", "remove", "grace"]) == 1
    found = find_state(place)
    assert found is not None
    everything = b"".join(path.read_bytes() for path in found.path.rglob("*") if path.is_file())
    assert token.encode() not in everything
    with State(found.path) as state:
        events = [(record.event, record.body["name"]) for record in state.records(event="token.")]
    assert events[-2:] == [("token.added", "grace"), ("token.removed", "grace")]


def test_without_the_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run(["serve"]) == 2
    assert 'pip install "remit[http]"' in capsys.readouterr().err


def test_importing_the_package_needs_no_server() -> None:
    program = "import sys, remit.http; print([n for n in ('starlette', 'uvicorn', 'sqlite3') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
    import remit.http

    for name in remit.http.__all__:
        assert getattr(remit.http, name) is not None
