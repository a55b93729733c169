"""The pack `weather` in cells, against a server of this machine that answers as Open-Meteo does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from remit import testing

PROJECT = Path(__file__).parents[1]
PLACE = {"results": [{"name": "Oslo", "country": "Norway", "latitude": 59.9, "longitude": 10.7}]}
FORECAST = {"current": {"temperature_2m": -3.5, "weather_code": 71, "time": "2026-01-05T12:00"}, "daily": {}}


class OpenMeteo(BaseHTTPRequestHandler):
    """Knows one city."""

    def do_GET(self) -> None:
        known = "name=Oslo" in self.path or self.path.startswith("/v1/forecast")
        body = json.dumps((FORECAST if "forecast" in self.path else PLACE) if known else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), OpenMeteo) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.05,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_the_weather_of_a_city(server: ThreadingHTTPServer) -> None:
    settings = {"endpoint": "api.test:80", "geocoder": "geo.test:80", "tls": False}
    with testing.pack(PROJECT, settings=settings, net={"api.test:80": server, "geo.test:80": server}) as pack:
        told = pack.value("get_weather", city="Oslo")
        assert (told["city"], told["temperature"], told["condition"]) == ("Oslo", -3.5, "light snow")
        unknown = pack.call("get_weather", city="Xyzzyville")
        assert unknown.status == "failed" and "there is no city named 'Xyzzyville'" in unknown.text
        assert {event.host for event in pack.network} == {"api.test", "geo.test"}
