"""Cases from the field, area `config`: addresses, keys, proxies, encodings. `HOLDS` is the table."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from remit.agent import Agent
from remit.deployment.load import load_config
from remit.errors import DeploymentError, ModelError
from remit.models.openai import OpenAIModel
from remit.models.protocol import Message, ModelReply, ModelRequest
from remit.models.urls import chat_url, proxy_for
from tests.command import remit
from tests.field_parts import given, is_whole
from tests.model_server import ModelServer, error, serve, text

HOLDS = {
    "L131": "a bare host gets /v1, any other path is kept; a 404 shows the whole URL that was asked",
    "L132": "slashes at the end and doubled ones go",
    "L135": "an empty key is none and sends no header; a 401 then says that no key is configured",
    "L137": "our own reading of NO_PROXY; what it cannot read is left out with one warning; `*` goes directly",
    "L140": "Remit reads no .env file; remit.toml and files with keys may open with a byte order mark",
    "L141": "Remit reads no .env file; remit.toml and files with keys may have CRLF; a lone CR is refused",
    "L143": "what the commands say of themselves is ASCII; any other text is escaped where it cannot be written",
    "L144": "standard input is UTF-8 with replacement; no request holds a lone surrogate; a file says where",
}

ASK = ModelRequest(messages=(Message(role="user", content="hi"),))
BODY = """\
policy = 1
[model]
name = "m"
base_url = "{url}"
api_key = "file:{key}"
[defaults]
enforcement = "available"
"""


def _complete(**options: Any) -> ModelReply:
    async def ask() -> ModelReply:
        model = OpenAIModel("m", **options)
        try:
            return await model.complete(ASK)
        finally:
            await model.aclose()

    return asyncio.run(ask())


def _open_proxies(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        for spelled in (name, name.upper()):
            monkeypatch.delenv(spelled, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_the_table_is_whole() -> None:
    assert is_whole(HOLDS, globals(), "config")


def test_l131_base_urls() -> None:
    paths = ["/v1/chat/completions"] * 5 + ["/api/v10/chat/completions", "/v1/chat/completions?api-version=2024"]
    urls = [url.replace("h:1", "{host}") for url in given("L131")["base_urls"]]
    with serve([text("hello")]) as server:
        host = server.base_url.removeprefix("http://").removesuffix("/v1")
        for url in urls:
            assert _complete(base_url=url.format(host=host)).text == "hello"
    assert [path for path, _, _ in server.requests] == [*paths, "/v1/chat/completions"]
    assert [chat_url(url) for url in given("L131")["base_urls"]] == [
        f"http://h:1{path}" for path in [*paths, "/v1/chat/completions"]
    ]


@pytest.mark.parametrize("url", ["http://h:1/v1 x", "http://h\0:1/v1", "http://h:1/\u200bv1"])
def test_l131_invisible_characters(url: str) -> None:
    with pytest.raises(DeploymentError, match="no http or https URL"):
        chat_url(url)


def test_l131_a_404_shows_the_url() -> None:
    with serve([error(404, "no such page")]) as server, pytest.raises(ModelError, match="404") as caught:
        _complete(base_url=server.base_url + "/wrong")
    assert f"{server.base_url}/wrong/chat/completions" in str(caught.value) and len(server.requests) == 1


def test_l132_slashes_at_the_end() -> None:
    urls = given("L132")["base_urls"]
    assert {chat_url(url) for url in urls} == {"https://r.example/api/v1/chat/completions"}
    with serve([text("hello")]) as server:
        for end in ("/", "//"):
            _complete(base_url=server.base_url.replace("/v1", "/api/v1") + end)
    assert {path for path, _, _ in server.requests} == {"/api/v1/chat/completions"}


@pytest.mark.parametrize("key", [given("L135")["env"]["OPENAI_API_KEY"], " \n", "k1"])
def test_l135_no_key_no_header(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serve([text("hello"), error(401, "who are you?")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert _complete().text == "hello"
        with pytest.raises(ModelError, match="401") as caught:
            _complete()
    headers = [headers.get("authorization") for _, headers, _ in server.requests]
    assert headers == [f"Bearer {key}" if key.strip() else None] * 2
    assert ("no API key is configured" in caught.value.remedy) == (not key.strip())


def test_l137_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = given("L137")["env"]
    _open_proxies(monkeypatch, **environment)
    with serve([text("hello")]) as server:
        assert _complete(base_url=server.base_url).text == "hello"
    without_star = environment["NO_PROXY"].removesuffix(",*")
    proxies = {"http": environment["HTTP_PROXY"], "no": without_star}
    for host in ("127.0.0.1:1", "[::1]:1", "localhost", "[fe80::2]", "10.9.8.7", "a.corp.example"):
        assert proxy_for(f"http://{host}/v1", proxies) is None, host
    assert proxy_for("http://other.example/v1", proxies) == environment["HTTP_PROXY"]
    assert proxy_for("http://other.example/v1", {**proxies, "no": environment["NO_PROXY"]}) is None


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy"])
def test_l137_a_proxy_is_used(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    entries = given("L137")["env"]["NO_PROXY"].removesuffix(",*")
    with serve([text("by proxy")]) as proxy:
        variables = {name: proxy.base_url.removesuffix("/v1"), "no_proxy": f"{entries},http://[,300.0.0.0/99"}
        _open_proxies(monkeypatch, **variables)
        with pytest.warns(UserWarning, match=r"NO_PROXY.*300\.0\.0\.0/99") as caught:
            assert _complete(base_url="http://model.example/v1").text == "by proxy"
    assert len(caught) == 1 and proxy.requests[0][0] == "http://model.example/v1/chat/completions"


@pytest.mark.parametrize("proxy", ["http://p.example:bad", "ftp://p.example", "http://[::1", "socks9://p.example"])
def test_l137_a_proxy_that_is_none(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    _open_proxies(monkeypatch, HTTP_PROXY=proxy)
    with pytest.raises(ModelError, match="proxy") as caught:
        _complete(base_url="http://model.example/v1")
    assert "HTTP_PROXY" in caught.value.remedy
    with serve([text("hello")]) as server:
        assert _complete(base_url=server.base_url).text == "hello", "this machine is reached directly"


def _deployment(folder: Path, server: ModelServer, *, encoding: str, ends: str, key: str) -> None:
    (folder / "key").write_bytes(f"{key}{ends}".encode(encoding))
    body = BODY.format(url=server.base_url, key=folder / "key").replace("\n", ends)
    (folder / "remit.toml").write_bytes(body.encode(encoding))
    remit("trust", "--yes", folder=folder)


def _asks_with_key(folder: Path, encoding: str, ends: str) -> None:
    with serve([text("hello")]) as server:
        _deployment(folder, server, encoding=encoding, ends=ends, key="k1")
        (folder / ".env").write_text("OPENAI_API_KEY=other\nMODEL=other\n")
        assert remit("run", "hi", folder=folder).out.strip().endswith("hello")
    _, headers, body = server.requests[0]
    assert (headers["authorization"], body["model"]) == ("Bearer k1", "m")


def test_l140_byte_order_mark(tmp_path: Path) -> None:
    _asks_with_key(tmp_path, given("L140")["encoding"], "\n")


@pytest.mark.parametrize("written", ["\ufeffmodel", "mo\u200bdel", "Model", "MODEL"])
def test_l140_keys_that_only_look_known(tmp_path: Path, written: str) -> None:
    path = tmp_path / "remit.toml"
    path.write_text(f'policy = 1\n["{written}"]\nname = "m"\n', "utf-8")
    with pytest.raises(DeploymentError, match=r"unknown key .*did you mean `model`"):
        load_config(path)
    path.write_text('policy = 1\n["model"]\nname = "m"\n', "utf-8-sig")
    assert load_config(path).config.model.name == "m"


def test_l141_crlf(tmp_path: Path) -> None:
    _asks_with_key(tmp_path, given("L141")["encoding"], "\r\n")
    path = tmp_path / "remit.toml"
    path.write_bytes(b"policy = 1\r\n[model]\r\nname = \"a#b\" # note\r\nbase_url = ''")
    model = load_config(path).config.model
    assert (model.name, model.base_url) == ("a#b", "")
    path.write_bytes(b'policy = 1\r[model]\rname = "m"\r')
    with pytest.raises(DeploymentError, match="not valid TOML"):
        load_config(path)


@pytest.mark.parametrize("arguments", [given("L143")["argv"], ["--version"], ["init", "--help"], ["packs", "list"],
                                       ["init", "--yes"], []])  # fmt: skip
def test_l143_ascii_terminals(tmp_path: Path, arguments: list[str]) -> None:
    ran = remit(*arguments, folder=tmp_path, environment=given("L143")["env"], expect=0 if arguments else None)
    assert (ran.out or ran.err).strip() and (ran.out + ran.err).isascii()


def test_l143_other_text_is_escaped(tmp_path: Path) -> None:
    with serve([text("21 \u00b0C \u5317\u4eac")]) as server:
        _deployment(tmp_path, server, encoding="utf-8", ends="\n", key="k1")
        ran = remit("run", "hi", folder=tmp_path, environment=given("L143")["env"])
        assert "21 \\xb0C \\u5317\\u4eac" in ran.out
        assert "21 \u00b0C \u5317\u4eac" in remit("run", "hi", folder=tmp_path, environment={"PYTHONUTF8": "1"}).out


def test_l144_standard_input(tmp_path: Path) -> None:
    piped = bytes.fromhex(given("L144")["bytes_hex"])
    with serve([text("hello")]) as server:
        _deployment(tmp_path, server, encoding="utf-8", ends="\n", key="k1")
        remit("run", "-", folder=tmp_path, stdin=piped)
        with Agent(model="m", base_url=server.base_url) as agent:
            agent.run(piped.decode("utf-8", "surrogateescape"))
    asked = [body["messages"][-1]["content"] for body in server.bodies]
    assert asked == ["\ufffdfor display\ufffd \u2713"] * 2


def test_l144_files_say_where(tmp_path: Path) -> None:
    path = tmp_path / "remit.toml"
    path.write_bytes(b'policy = 1\n[model]\nname = "' + bytes.fromhex(given("L144")["bytes_hex"]) + b'"\n')
    with pytest.raises(DeploymentError, match=r"remit\.toml:3: not UTF-8 \(byte 27\)"):
        load_config(path)
