"""The weather pack against a real HTTP server on this machine that answers as Open-Meteo does."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from remit_sandbox.inside.context import Context
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import CellSpec, Reply, Rights

ROOT = Path(__file__).parents[1]
PACK = ROOT / "plugins" / "remit-weather" / "src"


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    """The demo's weather server, loaded from its file."""
    spec = importlib.util.spec_from_file_location("demo_weather_server", ROOT / "examples/demo/weather_server.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server(demo: ModuleType) -> Iterator[Any]:
    with demo.WeatherServer() as running:
        yield running


@pytest.fixture
def skills(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PACK))
    return importlib.import_module("remit_weather.skills")


def context(host: str) -> Context:
    return Context(settings={"endpoint": host, "geocoder": host, "tls": False})


def test_current_weather_and_forecast(skills: ModuleType, server: Any) -> None:
    result = skills.get_weather("Paris", context(server.host))
    assert (result["city"], result["country"], result["temperature"]) == ("Paris", "France", 18.2)
    assert result["units"]["temperature"] == "°C" and result["units"]["wind_speed"] == "km/h"
    assert result["condition"] == "partly cloudy"
    assert result["today"]["min"] < result["temperature"] < result["today"]["max"]
    assert result["today"]["precipitation_probability"] == 20
    assert len(result["next_days"]) == 3
    assert result["today"]["date"] == result["local_time"][:10] < result["next_days"][0]["date"]
    json.dumps(result, allow_nan=False)


@pytest.mark.parametrize("city", ["北京", "北京市", "Beijing", " beijing ", "Beijing, China", "北京，中国"])
def test_a_city_in_many_spellings(skills: ModuleType, server: Any, city: str) -> None:
    assert skills.get_weather(city, context(server.host))["temperature"] == 25.0


def test_chinese_names_are_searched_in_chinese(skills: ModuleType, server: Any) -> None:
    assert skills.get_weather("上海", context(server.host))["city"] == "上海"
    assert "language=zh" in server.requests[0]


@pytest.mark.parametrize("city", ["Xyzzyville", "Nowhere, France", "阿特兰蒂斯"])
def test_an_unknown_city_is_named(skills: ModuleType, server: Any, city: str) -> None:
    with pytest.raises(ValueError, match=f"there is no city named '{city}'"):
        skills.get_weather(city, context(server.host))


@pytest.mark.parametrize("city", ["", "   ", "x", "x" * 101])
def test_what_is_no_name_never_reaches_the_service(skills: ModuleType, server: Any, city: str) -> None:
    with pytest.raises(ValueError, match="is no name of a city"):
        skills.get_weather(city, context(server.host))
    assert server.requests == []


def test_a_service_that_is_down(skills: ModuleType, demo: ModuleType) -> None:
    with demo.WeatherServer() as gone:
        host = gone.host
    with pytest.raises(ConnectionError, match=f"http://{host} cannot be reached"):
        skills.get_weather("Paris", context(host))


def test_the_service_says_why_it_refuses(demo: ModuleType, server: Any, skills: ModuleType) -> None:
    service = importlib.import_module("remit_weather.service").Service(server.host, tls=False)
    with pytest.raises(ConnectionError, match=r"answered 400: .*latitude"):
        service.get("/v1/forecast", {"latitude": "north"})


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b"", b'{"results": 3}', b'{"results": [{"name": "Paris"}]}'])
def test_rubbish_answers_are_errors(skills: ModuleType, body: bytes) -> None:
    with rubbish_server(body) as host, pytest.raises((ConnectionError, ValueError)):
        skills.get_weather("Paris", context(host))


def test_a_forecast_with_gaps(skills: ModuleType) -> None:
    daily = {"time": ["2026-01-01", "2026-01-02"], "temperature_2m_max": [3.5], "weather_code": [None, 999]}
    result = skills.summary({"name": "Oslo"}, {"current": {"temperature_2m": 0}, "daily": daily})
    assert result["temperature"] == 0 and result["condition"] == "unknown"
    assert result["today"] == {
        "date": "2026-01-01",
        "min": None,
        "max": 3.5,
        "precipitation_probability": None,
        "condition": "unknown",
    }
    assert result["next_days"][0]["max"] is None
    with pytest.raises(ConnectionError):
        skills.summary({"name": "Oslo"}, {"daily": daily})


def test_urls_of_the_real_service(skills: ModuleType) -> None:
    service = importlib.import_module("remit_weather.service").Service
    assert service("api.open-meteo.com:443", tls=True)._base == "https://api.open-meteo.com"
    assert service("127.0.0.1:8099", tls=False)._base == "http://127.0.0.1:8099"


def in_a_cell(host: str, grants: tuple[str, ...], city: str) -> Reply:
    spec = CellSpec(
        pack="weather",
        package="remit_weather",
        paths=(str(PACK),),
        rights=Rights(net=grants, private_net=grants),
        settings={"endpoint": host, "geocoder": host, "tls": False},
        enforcement="available",
    )
    body = {
        "handler": "remit_weather.skills:get_weather",
        "arguments": json.dumps({"city": city}).encode(),
        "context": {"session": "s", "call": "c"},
    }
    with Sandbox() as sandbox:
        return sandbox.cell(spec).request("call", body, timeout=20)


def test_in_a_cell_with_the_grant(server: Any) -> None:
    reply = in_a_cell(server.host, (server.host,), "北京")
    assert reply.kind == "result" and json.loads(reply.text)["temperature"] == 25.0
    assert in_a_cell(server.host, (server.host,), "Xyzzyville").error.startswith("ValueError: there is no city named")


def test_in_a_cell_without_the_grant_the_host_is_named(server: Any) -> None:
    reply = in_a_cell(server.host, ("api.open-meteo.com:443",), "Paris")
    assert reply.kind == "failed" and server.requests == []
    assert f"pack weather may not connect to {server.host}: no grant covers it" in reply.error


class rubbish_server:
    """Answers every request with the same bytes."""

    def __init__(self, body: bytes) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> str:
        self._thread.start()
        return f"127.0.0.1:{self._server.server_port}"

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
