"""A parked call is told to a command or a webhook: what, why, until when, where; and no failure is fatal."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from remit.deployment.changes import compare
from remit.deployment.config import Config
from remit.deployment.files import read_files
from remit.deployment.summary import summary
from remit.errors import DeploymentError
from remit.packs.lock import Lock
from remit.pipeline.notify import Notifier
from tests.in_process import Here
from tests.pipeline_parts import Bench, Person, host_skill

KEEP = (sys.executable, "-c", "import sys; open('told', 'ab').write(sys.stdin.buffer.read() + b'\\n')")


def write(text: str, password: str = "") -> str:
    """Write."""
    return "written"


WRITE = host_skill(write, effect="write", secret_arguments=frozenset({"password"}))


def told(folder: Path) -> list[dict[str, Any]]:
    file = folder / "told"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_command_is_told_once_and_without_arguments(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE, notify=Notifier(folder=tmp_path, command=KEEP)) as bench:
        assert bench.call("local.write", text="my secret plan").status == "parked"
        result = bench.call("local.write", text="my secret plan")
        (one,) = bench.state.signoffs()
        assert f"remit signoff show {one.nonce[:12]}" in result.remedy
        outcomes = [(r.body["how"], r.body["ok"]) for r in bench.state.records(event="signoff.notified")]
    (message,) = told(tmp_path)
    assert outcomes == [("command", True)]
    assert (message["what"], message["why"], message["id"]) == ("local.write", "default write", one.nonce)
    assert message["digest"] == one.digest and message["where"].startswith(f"remit signoff show {one.nonce[:12]} in ")
    assert datetime.fromisoformat(message["until"]).timestamp() > time.time() + 86_400
    assert "secret plan" not in json.dumps(message)


def test_arguments_are_told_where_that_is_wanted_but_never_secret_ones(tmp_path: Path) -> None:
    notify = Notifier(folder=tmp_path, command=KEEP, arguments=True)
    rules = [{"id": "look", "verdict": "ask", "reason": "have a look"}]
    with Bench(tmp_path, WRITE, notify=notify, rules=rules) as bench:
        bench.call("local.write", text="plan", password="hunter2")
    (message,) = told(tmp_path)
    assert message["arguments"] == {"text": "plan", "password": "[not recorded]"}
    assert message["why"] == "rule look: have a look" and "hunter2" not in json.dumps(message)


def test_nobody_is_told_when_somebody_is_there(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE, notify=Notifier(folder=tmp_path, command=KEEP), approver=Person()) as bench:
        assert bench.call("local.write", text="a").status == "ok"
    assert told(tmp_path) == []


@pytest.mark.parametrize(
    ("command", "seconds", "why"),
    [
        (("/nonexistent/tell",), 60.0, "could not be started"),
        ((sys.executable, "-c", "import sys; sys.exit('no network')"), 60.0, "ended with 1: no network"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), 0.5, "was not done within 0.5 seconds"),
        (("sh", "-c", "sleep 60 & wait"), 0.5, "was not done within 0.5 seconds"),
    ],
)
def test_a_command_that_fails_is_said_and_not_fatal(
    tmp_path: Path, command: tuple[str, ...], seconds: float, why: str
) -> None:
    with Bench(tmp_path, WRITE, notify=Notifier(folder=tmp_path, command=command, timeout=seconds)) as bench:
        result = bench.call("local.write", text="a")
        assert result.status == "parked" and why in result.remedy and why not in result.text
        (record,) = bench.state.records(event="signoff.notified")
        assert record.body["ok"] is False and why in record.body["error"]
        assert len(bench.state.signoffs()) == 1


class Desk(HTTPServer):
    """Answers every POST with `code`, once `answers` is set, and keeps what it was sent."""

    code = 204

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[bytes] = []
        self.answers = threading.Event()
        self.answers.set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/signoffs"


class _Handler(BaseHTTPRequestHandler):
    server: Desk

    def do_POST(self) -> None:
        self.server.got.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.answers.wait(60)
        self.send_response(self.server.code)
        if self.server.code == 307:
            self.send_header("Location", self.server.address)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def desk() -> Iterator[Desk]:
    server = Desk()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.answers.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("code", "seconds", "why"),
    [(204, 60.0, ""), (500, 60.0, "it answered 500"), (307, 60.0, "it answered 307"), (204, 2.0, "within 2 seconds")],
)
def test_a_webhook_is_told(tmp_path: Path, desk: Desk, code: int, seconds: float, why: str) -> None:
    desk.code = code
    if why == "within 2 seconds":
        desk.answers.clear()
    with Bench(tmp_path, WRITE, notify=Notifier(folder=tmp_path, webhook=desk.address, timeout=seconds)) as bench:
        result = bench.call("local.write", text="a")
        (one,) = bench.state.signoffs()
    assert result.status == "parked" and (why in result.remedy if why else "webhook" not in result.remedy)
    assert [json.loads(body)["id"] for body in desk.got] == [one.nonce]


def test_a_webhook_that_is_gone(tmp_path: Path) -> None:
    notify = Notifier(folder=tmp_path, webhook="http://127.0.0.1:9/", command=KEEP)
    with Bench(tmp_path, WRITE, notify=notify) as bench:
        assert "the webhook of [notify] failed" in bench.call("local.write", text="a").remedy
    assert len(told(tmp_path)) == 1


@pytest.mark.parametrize("url", ["http://desk.example/x", "ftp://desk.example", "desk.example", "https://"])
def test_a_webhook_goes_over_tls(url: str) -> None:
    with pytest.raises(ValueError, match="write an address"):
        Config.model_validate({"notify": {"webhook": url}})
    assert Config.model_validate({"notify": {"webhook": "https://desk.example/x"}}).notify.webhook


def test_a_change_of_who_is_told_asks_for_trust(tmp_path: Path) -> None:
    old, lock = Config(), Lock()
    for notify in ({"command": ["tell"]}, {"webhook": "https://desk.example"}, {"arguments": True}):
        new = Config.model_validate({"notify": notify})
        assert compare(old, lock, new, lock).needs_trust and compare(new, lock, old, lock).needs_trust


def test_a_deployment_says_who_is_told_and_the_command_line_tells_it(tmp_path: Path) -> None:
    here = Here(place=tmp_path).make("files")
    command = json.dumps(list(KEEP))
    (here.folder / "remit.toml").write_text(f"{here.config}\n[notify]\ncommand = {command}\n")
    here.remit("call", "files.write_file", '{"path": "a", "content": "b"}', expect=5)
    assert any("runs with all rights of this program" in line for line in summary(read_files(here.folder)))
    here.remit("trust", "--yes")
    here.remit("call", "files.write_file", '{"path": "a", "content": "b"}', expect=3)
    (message,) = told(here.folder)
    assert message["where"].endswith(str(here.folder))
    (here.folder / "remit.toml").write_text(here.config.replace("command = [", "comand = ["))
    with pytest.raises(DeploymentError, match="did you mean"):
        read_files(here.folder)
