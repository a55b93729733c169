"""A small weather service on this machine: the two requests of Open-Meteo for a handful of cities.

For the demo and the tests, where there is no network:

    python examples/demo/weather_server.py 8099
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo


@dataclass(frozen=True)
class City:
    """A city and its invented weather: degrees Celsius, percent, km/h, WMO code."""

    names: dict[str, str]
    country: str
    admin1: str
    latitude: float
    longitude: float
    timezone: str
    temperature: float
    humidity: int
    wind: float
    code: int
    rain_chance: int


_TABLE = """
Beijing  | 北京 | China          | Beijing         | 39.9075  | 116.3972 | Asia/Shanghai    | 25.0 | 38 | 9.4  | 0 | 5
Shanghai | 上海 | China          | Shanghai        | 31.2222  | 121.4581 | Asia/Shanghai    | 28.5 | 71 | 14.0 | 61 | 70
Paris    | 巴黎 | France         | Ile-de-France   | 48.8534  | 2.3488   | Europe/Paris     | 18.2 | 55 | 11.5 | 2 | 20
London   | 伦敦 | United Kingdom | England         | 51.5085  | -0.1257  | Europe/London    | 15.6 | 78 | 18.4 | 63 | 80
Madrid   | 马德里 | Spain          | Madrid          | 40.4165  | -3.7026  | Europe/Madrid    | 31.4 | 24 | 7.9  | 1 | 0
Berlin   | 柏林 | Germany        | Berlin          | 52.5244  | 13.4105  | Europe/Berlin    | 17.3 | 60 | 13.0 | 3 | 35
Tokyo    | 东京 | Japan          | Tokyo           | 35.6895  | 139.6917 | Asia/Tokyo       | 26.8 | 66 | 10.1 | 80 | 55
New York | 纽约 | United States  | New York        | 40.7143  | -74.006  | America/New_York | 22.1 | 50 | 12.6 | 2 | 15
Sydney   | 悉尼 | Australia      | New South Wales | -33.8678 | 151.2073 | Australia/Sydney | 14.9 | 59 | 16.2 | 0 | 10
Oslo     | 奥斯陆 | Norway       | Oslo            | 59.9127  | 10.7461  | Europe/Oslo      | -3.5 | 82 | 6.3  | 73 | 60
"""


def _read(line: str) -> City:
    english, chinese, country, admin1, latitude, longitude, zone, *weather = (cell.strip() for cell in line.split("|"))
    temperature, humidity, wind, code, rain_chance = weather
    return City(
        names={"en": english, "zh": chinese},
        country=country,
        admin1=admin1,
        latitude=float(latitude),
        longitude=float(longitude),
        timezone=zone,
        temperature=float(temperature),
        humidity=int(humidity),
        wind=float(wind),
        code=int(code),
        rain_chance=int(rain_chance),
    )


CITIES = tuple(_read(line) for line in _TABLE.strip().splitlines())
"""What the service knows. The weather never changes; the dates are today's."""

_UNITS = {
    "temperature_2m": "°C",
    "apparent_temperature": "°C",
    "relative_humidity_2m": "%",
    "precipitation": "mm",
    "weather_code": "wmo code",
    "wind_speed_10m": "km/h",
    "temperature_2m_max": "°C",
    "temperature_2m_min": "°C",
    "precipitation_probability_max": "%",
}


class BadRequest(ValueError):
    """A request that the service answers with status 400 and this reason."""


class WeatherServer:
    """The service on `127.0.0.1`, in a thread.

    Attributes:
        port: the TCP port, free by choice of the system when 0 was asked for.
        requests: paths with their parameters, in the order they came.
    """

    def __init__(self, port: int = 0) -> None:
        self.requests: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self.requests))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.port = self._server.server_port

    @property
    def host(self) -> str:
        """Host and port as a setting or grant writes them."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> WeatherServer:
        """Serve from now on; returns itself."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the thread and close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> WeatherServer:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()


def search(parameters: dict[str, str]) -> dict[str, Any]:
    """The answer of `/v1/search`: `results` is missing where nothing was found."""
    name = parameters.get("name", "").strip().casefold()
    if not name:
        raise BadRequest("Parameter 'name' must be a valid string")
    language = parameters.get("language", "en")
    count = int(parameters.get("count", "10"))
    found = [city for city in CITIES if any(text.casefold() == name for text in city.names.values())]
    results = [_place(city, language) for city in found][:count]
    return {"results": results, "generationtime_ms": 0.4} if results else {"generationtime_ms": 0.4}


def forecast(parameters: dict[str, str]) -> dict[str, Any]:
    """The answer of `/v1/forecast` for the city nearest to the coordinates."""
    try:
        latitude, longitude = float(parameters["latitude"]), float(parameters["longitude"])
    except (KeyError, ValueError):
        raise BadRequest("Parameter 'latitude' and 'longitude' must have the same number of elements") from None
    city = min(CITIES, key=lambda city: (city.latitude - latitude) ** 2 + (city.longitude - longitude) ** 2)
    now = datetime.now(ZoneInfo(city.timezone))
    offset = now.utcoffset() or timedelta()
    answer: dict[str, Any] = {
        "latitude": latitude,
        "longitude": longitude,
        "generationtime_ms": 0.1,
        "utc_offset_seconds": int(offset.total_seconds()),
        "timezone": city.timezone,
        "timezone_abbreviation": now.tzname(),
        "elevation": 40.0,
    }
    answer |= _section("current", parameters, {"time": "iso8601", "interval": "seconds"}, _current(city, now))
    return answer | _section("daily", parameters, {"time": "iso8601"}, _daily(city, now, _day_count(parameters)))


def _section(name: str, parameters: dict[str, str], fixed: dict[str, str], values: dict[str, Any]) -> dict[str, Any]:
    asked = [variable for variable in parameters.get(name, "").split(",") if variable]
    unknown = [variable for variable in asked if variable not in values]
    if unknown:
        raise BadRequest(f"Data corrupted at path ''. Cannot initialize from invalid String value {unknown[0]}.")
    if not asked:
        return {}
    units = fixed | {variable: _UNITS[variable] for variable in asked}
    return {f"{name}_units": units, name: {key: values[key] for key in (*fixed, *asked)}}


def _day_count(parameters: dict[str, str]) -> int:
    count = int(parameters.get("forecast_days", "7"))
    if not 0 <= count <= 16:
        raise BadRequest("Forecast days is invalid. Allowed range 0 to 16.")
    return count


def _place(city: City, language: str) -> dict[str, Any]:
    return {
        "id": abs(hash((city.latitude, city.longitude))) % 10_000_000,
        "name": city.names.get(language, city.names["en"]),
        "latitude": city.latitude,
        "longitude": city.longitude,
        "elevation": 40.0,
        "feature_code": "PPLC",
        "timezone": city.timezone,
        "country": city.country,
        "admin1": city.admin1,
    }


def _current(city: City, now: datetime) -> dict[str, Any]:
    return {
        "time": now.strftime("%Y-%m-%dT%H:00"),
        "interval": 900,
        "temperature_2m": city.temperature,
        "apparent_temperature": round(city.temperature - 0.4, 1),
        "relative_humidity_2m": city.humidity,
        "precipitation": 0.6 if city.code >= 51 else 0.0,
        "weather_code": city.code,
        "wind_speed_10m": city.wind,
    }


def _daily(city: City, now: datetime, count: int) -> dict[str, Any]:
    days = range(count)
    swing = (0.0, 1.2, -0.8, 0.5)
    return {
        "time": [(now + timedelta(days=day)).strftime("%Y-%m-%d") for day in days],
        "weather_code": [city.code for _ in days],
        "temperature_2m_max": [round(city.temperature + 2.5 + swing[day % 4], 1) for day in days],
        "temperature_2m_min": [round(city.temperature - 7.5 + swing[day % 4], 1) for day in days],
        "precipitation_probability_max": [min(100, city.rain_chance + 5 * day) for day in days],
    }


_ROUTES = {"/v1/search": search, "/v1/forecast": forecast}


def _handler(requests: list[str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            parts = urlsplit(self.path)
            parameters = {key: values[0] for key, values in parse_qs(parts.query).items()}
            try:
                self._answer(200, _ROUTES[parts.path](parameters))
            except KeyError:
                self._answer(404, {"error": True, "reason": "Not Found"})
            except ValueError as error:
                self._answer(400, {"error": True, "reason": str(error)})

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body, ensure_ascii=False).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            """Say nothing: the demo's output is the demo's."""

    return Handler


def main() -> None:
    """Serve until interrupted; takes the port as its argument, default 8099."""
    server = WeatherServer(int(sys.argv[1]) if len(sys.argv) > 1 else 8099)
    print(f"weather service on http://{server.host}/v1/search and /v1/forecast", flush=True)
    with server:
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
