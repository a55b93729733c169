"""The loop of a cell, over its real protocol in a process of its own, unconfined."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from remit_sandbox.frames import Exchange, FrameReader
from tests.packaging import build_site

PROGRAM = """
import sys
from remit_sandbox.inside.warm import warm
warm()
from remit_sandbox.inside.serve import serve
serve(int(sys.argv[1]), None, sys.argv[2])
"""


class Served:
    """One serving process and the host's end of its channel."""

    def __init__(self, tmp: Path) -> None:
        self.tmp = tmp
        ours, theirs = socket.socketpair()
        self.channel = ours
        self.channel.settimeout(60)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(theirs.fileno()), str(tmp)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        self._reader = FrameReader(64 * 1024 * 1024)
        self._number = 100

    def ask(self, op: str, **body: Any) -> tuple[dict[str, Any], list[str]]:
        """Return the answer and the progress before it; EOFError when the process ended."""
        self._number += 7
        exchange = Exchange(self._reader, {"op": op, **body}, self._number)
        for part in exchange.outgoing:
            self.channel.sendall(part)
        answer = None
        while answer is None:
            data = self.channel.recv(exchange.wanted())
            if not data:
                raise EOFError
            answer = exchange.feed(data)
        return answer, exchange.progress

    def open(self, package: str, site: Path, **changes: Any) -> dict[str, Any]:
        frame = {
            "pack": package,
            "package": package,
            "location": None,
            "paths": [str(site)],
            "settings": {"greeting": "Hello"},
            "secrets": {"token": "hunter22"},
            "workspace": None,
            "data": None,
            "cwd": str(self.tmp),
            "env": {"REMIT_EXTRA": "1"},
            "net": False,
        }
        return self.ask("open", **(frame | changes))[0]

    def call(self, handler: str, **arguments: Any) -> dict[str, Any]:
        body = {"handler": handler, "arguments": json.dumps(arguments).encode()}
        return self.ask("call", context={"session": "s", "call": "c"}, **body)[0]

    def close(self) -> tuple[str, str]:
        """Close the channel and return what was printed."""
        self.channel.close()
        out, err = self.process.communicate(timeout=60)
        return out.decode(), err.decode()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Served]]:
    started: list[Served] = []

    def begin() -> Served:
        tmp = tmp_path / f"cell{len(started)}"
        tmp.mkdir()
        started.append(Served(tmp))
        return started[-1]

    yield begin
    for served in started:
        served.channel.close()
        served.process.kill()
        served.process.communicate()


@pytest.fixture
def good(start: Callable[[], Served], tmp_path: Path) -> Served:
    served = start()
    assert served.open("remit_test_good", build_site(tmp_path, "good"))["op"] == "ready"
    return served


@pytest.fixture
def hostile(start: Callable[[], Served], tmp_path: Path) -> Served:
    served = start()
    assert served.open("remit_test_hostile", build_site(tmp_path, "hostile"))["op"] == "ready"
    return served


GOOD = "remit_test_good.skills:"
HOSTILE = "remit_test_hostile.skills:"


def value(answer: dict[str, Any]) -> Any:
    assert answer["op"] == "result", answer
    return json.loads(answer["text"])


def test_describe(good: Served) -> None:
    skills = {
        "order": [GOOD + "order", GOOD + "round_total"],
        "greet": [GOOD + "greet", None],
        "ghost": [GOOD + "ghost", None],
        "alien": ["os:getcwd", None],
        "hooked": [GOOD + "greet", GOOD + "picture"],
    }
    answer, _ = good.ask("describe", skills=skills)
    described = answer["skills"]
    schema = json.loads(described["order"]["schema"])
    assert schema["properties"]["speed"] == {
        "enum": ["slow", "fast", 3],
        "description": "how fast it must be",
        "default": "slow",
    }
    assert described["order"]["description"] == ("Add an order up.\n\nThe total counts every item with its quantity.")
    assert list(json.loads(described["greet"]["schema"])["properties"]) == ["name"]
    assert "no function 'ghost'" in described["ghost"]["error"]
    assert "outside the pack's package" in described["alien"]["error"]
    assert "its post-hook must take (call, result)" in described["hooked"]["error"]


def test_call_and_convert(good: Served) -> None:
    assert value(good.call(GOOD + "add", a=1, b=2.5)) == 3.5
    assert value(good.call(GOOD + "greet", name="Ada")) == "Hello, Ada"
    item = {"sku": "a", "price": "1.10", "quantity": 2}
    assert value(good.call(GOOD + "order", items=[item], due="2026-01-31")) == {
        "amount": "2.20",
        "items": 2,
        "due": "2026-01-31",
    }
    bad = good.call(GOOD + "order", items=[{"sku": "a", "price": "1", "colou": 1}], due="2026-01-31")
    assert bad["errors"] == [["items[0].colou", "there is no such argument"]]
    arguments = json.dumps({"a": "x"}).encode()
    assert good.ask("convert", handler=GOOD + "add", arguments=arguments)[0]["op"] == "invalid"
    assert good.ask("convert", handler=GOOD + "add", arguments=b'{"a": 1}')[0]["op"] == "converted"


def test_progress_and_follow_ups(good: Served) -> None:
    body = {"context": {"session": "s", "call": "c"}}
    answer, progress = good.ask("call", handler=GOOD + "steps", arguments=b'{"count": 2}', **body)
    assert (value(answer), progress) == (2, ["step 1", "step 2"])
    answer, progress = good.ask("call", handler=GOOD + "chain", arguments=b'{"first": 1}', **body)
    assert progress == ["asking"]
    assert answer["follow_ups"] == [["good.add", b'{"a":1,"b":1}'], ["good.add", b'{"a":1,"b":2}']]


def test_post_hook_replaces_the_result(good: Served) -> None:
    call = {"skill": "good.order", "arguments": b'{"speed": "fast"}'}
    answer, _ = good.ask("after", after=GOOD + "round_total", call=call, result=b'{"amount": "1"}', context={})
    assert value(answer) == {"amount": "1", "speed": "fast"}
    answer, _ = good.ask("after", after=GOOD + "round_total", call=call, result=b"7", context={})
    assert answer["op"] == "failed"


def test_results_of_every_kind(good: Served) -> None:
    kinds = value(good.call(GOOD + "kinds"))
    assert (kinds["money"], kinds["huge"], kinds["set"], kinds["7"]) == ("1.10", 2**70, [1, 2, 3], "a number as a key")
    assert value(good.call(GOOD + "picture"))["media_type"] == "image/png"
    assert value(good.call(GOOD + "large", characters=5_000_000)).endswith("TAIL")


def test_a_failure_names_the_packs_own_lines_and_no_host_path(good: Served, tmp_path: Path) -> None:
    answer = good.call(GOOD + "breaks", message=f"no {tmp_path}/site/x and hunter22")
    assert answer["error"] == "ValueError: no <site>/x and [secret token]"
    assert answer["traceback"].startswith("remit_test_good/skills.py:")
    assert "in breaks: raise ValueError(message)" in answer["traceback"]
    assert str(tmp_path) not in answer["traceback"]
    assert "serve.py" not in answer["traceback"]


def test_working_directory_environment_and_paths(good: Served, tmp_path: Path) -> None:
    (good.tmp / "note.txt").write_text("text")
    assert value(good.call(GOOD + "read", path="note.txt")) == "text"
    missing = good.call(GOOD + "read", path=str(good.tmp / "absent.txt"))
    assert missing["error"] == "FileNotFoundError: [Errno 2] No such file or directory: '${tmp}/absent.txt'"


def test_async_handlers(start: Callable[[], Served], tmp_path: Path) -> None:
    served = start()
    served.open("remit_test_async", build_site(tmp_path, "async_"))
    name = "remit_test_async.skills:"
    assert value(served.call(name + "together", numbers=[1, 2])) == [2, 4]
    answer, progress = served.ask("call", handler=name + "count", arguments=b'{"upto": 3}', context={})
    assert (value(answer), progress) == (6, ["at 1", "at 2", "at 3"])
    assert served.call(name + "fail", message="no")["error"] == "ValueError: no"
    assert value(served.call(name + "double", number=2)) == 4


def test_a_pack_that_raises_at_import_is_broken(start: Callable[[], Served], tmp_path: Path) -> None:
    answer = start().open("remit_test_raises", build_site(tmp_path, "raises_at_import"))
    assert answer["op"] == "broken"
    assert answer["error"] == "RuntimeError: this pack cannot be imported"
    assert "remit_test_raises/__init__.py:3" in answer["traceback"]


def test_a_package_at_a_location_is_loaded_from_there_alone(start: Callable[[], Served], tmp_path: Path) -> None:
    source = tmp_path / "work"
    (source / "dev_pack").mkdir(parents=True)
    (source / "dev_pack" / "__init__.py").write_text("from .inner import two\n")
    (source / "dev_pack" / "inner.py").write_text("import sys\ndef two() -> list[str]:\n    return sys.path\n")
    (source / "other.py").write_text("")
    served = start()
    assert served.open("dev_pack", tmp_path, location=str(source))["op"] == "ready"
    assert str(source) not in value(served.call("dev_pack:two"))
    assert value(served.call("dev_pack.inner:two"))


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("exit", "the handler ended its process: exit code 0"),
        ("interrupt", "KeyboardInterrupt"),
        ("generator_exit", "GeneratorExit"),
        ("base", "BaseException: base"),
        ("recurse", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_what_no_handler_should_raise_is_a_failure(hostile: Served, how: str, error: str) -> None:
    answer = hostile.call(HOSTILE + "leave", how=how)
    assert answer["op"] == "failed"
    assert answer["error"].startswith(error)
    assert value(hostile.call(HOSTILE + "leave", how="stay")) == "stayed"


@pytest.mark.parametrize("how", ["_exit", "segv"])
def test_a_handler_that_ends_the_process_gives_no_answer(hostile: Served, how: str) -> None:
    with pytest.raises((EOFError, ConnectionResetError)):
        hostile.call(HOSTILE + "leave", how=how)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("nan", "the handler returned nan; JSON has no such number"),
        ("infinity", "the handler returned inf at result[1].a; JSON has no such number"),
        ("object", "the handler returned a object, which has no JSON form"),
        ("endless", "the result nests deeper than 100 levels; does it contain itself?"),
        ("deep", "the result nests deeper than 100 levels"),
        ("keys", "two keys become the same text '1'"),
        ("int", "an integer has more than about 4300 digits"),
        ("large", "the result is larger than"),
    ],
)
def test_results_that_are_no_json_fail_with_the_reason(hostile: Served, kind: str, error: str) -> None:
    answer = hostile.call(HOSTILE + "odd", kind=kind)
    assert answer["op"] == "failed"
    assert answer["error"].startswith(error)
    assert value(hostile.call(HOSTILE + "odd", kind="surrogate")) == "\\udc80"


@pytest.mark.parametrize(
    ("kind", "error"),
    [("evil", "Evil: (its text cannot be shown)"), ("long", "ValueError: xxx"), ("lines", "ValueError: one two")],
)
def test_errors_that_are_hard_to_report(hostile: Served, kind: str, error: str) -> None:
    answer = hostile.call(HOSTILE + "raises", kind=kind)
    assert answer["error"].startswith(error)
    assert len(answer["error"]) <= 500


def test_output_is_text_in_utf_8_and_no_frame(hostile: Served) -> None:
    answer, _ = hostile.ask("call", handler=HOSTILE + "odd", arguments=b'{"kind": "null"}', context={})
    assert value(answer) == "a\x00b\x1b[31m\u202e"
    out, _ = hostile.close()
    assert "loading" in out


def test_closed_streams_are_put_back(hostile: Served) -> None:
    assert value(hostile.call(HOSTILE + "close_descriptors", upto=10)) == "closed"
    assert value(hostile.call(HOSTILE + "replace_streams")) == "replaced"
    assert value(hostile.call(HOSTILE + "descriptors"))[:3] == [0, 1, 2]
    hostile.call(HOSTILE + "flood", megabytes=0)
    out, _ = hostile.close()
    assert out.startswith("loading")


def test_a_thread_left_behind_cannot_break_the_order(hostile: Served) -> None:
    assert value(hostile.call(HOSTILE + "linger", seconds=2)) == "left"
    for _ in range(50):
        answer, progress = hostile.ask("call", handler=HOSTILE + "leave", arguments=b'{"how": "stay"}', context={})
        assert (value(answer), progress) == ("stayed", [])


def test_a_forked_child_cannot_answer(hostile: Served) -> None:
    child = value(hostile.call(HOSTILE + "fork"))
    assert child > 0
    assert value(hostile.call(HOSTILE + "leave", how="stay")) == "stayed"


def test_only_three_follow_ups(hostile: Served) -> None:
    assert "at most 3" in hostile.call(HOSTILE + "many", count=4)["error"]
    assert len(hostile.call(HOSTILE + "many", count=3)["follow_ups"]) == 3


def test_the_channel_is_not_where_a_stray_close_hits_it_nor_inherited(hostile: Served) -> None:
    open_ones = value(hostile.call(HOSTILE + "descriptors"))
    assert [number for number in open_ones if 3 <= number < 100] == []
    assert value(hostile.call(HOSTILE + "spawn")) == "ran\n"


def test_the_process_ends_with_its_channel(good: Served) -> None:
    good.close()
    assert good.process.returncode == 0


def test_an_unknown_request_ends_the_process(good: Served) -> None:
    with pytest.raises(EOFError):
        good.ask("format_disk")
    assert good.process.wait(timeout=60) == 70


def test_nothing_runs_before_open(start: Callable[[], Served]) -> None:
    served = start()
    with pytest.raises(EOFError):
        served.call("os:getcwd")


def test_text_survives_any_locale(start: Callable[[], Served], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    monkeypatch.setenv("PYTHONUTF8", "0")
    served = start()
    served.open("remit_test_good", build_site(tmp_path, "good"))
    text = "Đảo ★ 😀 \u2028\x85\r x"
    assert value(served.call(GOOD + "greet", name=text)) == f"Hello, {text}"


STREAMS = """
import os

def say(text: str) -> None:
    print(text)

def lose(how: str, path: str) -> list[int]:
    if how == "closed":
        os.close(1)
    elif how == "reused":
        os.close(1)
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    elif how == "redirected":
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), 1)
    elif how == "pipe":
        os.dup2(os.pipe()[1], 1)
    elif how == "null":
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    elif how == "input":
        os.dup2(os.open(__file__, os.O_RDONLY), 0)
    return [os.fstat(0).st_ino, os.stat(os.devnull).st_ino]
"""


@pytest.mark.parametrize("how", ["kept", "closed", "reused", "redirected", "pipe", "null"])
def test_standard_output_that_a_handler_loses_is_put_back(
    start: Callable[[], Served], tmp_path: Path, how: str
) -> None:
    folder = tmp_path / "site" / "streams_pack"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(STREAMS)
    served, other = start(), tmp_path / "other"
    assert served.open("streams_pack", folder.parent)["op"] == "ready"
    served.call("streams_pack:lose", how=how, path=str(other))
    served.call("streams_pack:say", text="heard")
    assert "heard" in served.close()[0]
    assert not other.exists() or other.read_bytes() == b""


def test_standard_input_that_a_handler_replaces_is_put_back(start: Callable[[], Served], tmp_path: Path) -> None:
    folder = tmp_path / "site" / "streams_pack"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(STREAMS)
    served = start()
    assert served.open("streams_pack", folder.parent)["op"] == "ready"
    replaced, null = value(served.call("streams_pack:lose", how="input", path=""))
    assert replaced != null
    found, null = value(served.call("streams_pack:lose", how="kept", path=""))
    assert found == null
