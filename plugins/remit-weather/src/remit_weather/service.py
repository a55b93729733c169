"""One request to the weather service, with its failures in words."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

TIMEOUT = 8.0
"""Seconds for each of the two requests."""

_LARGEST = 1_000_000

# Only the granted hosts can be reached from here, so a proxy of the environment is of no use.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Service:
    """A host of the service, `name:port`, over HTTPS or, for a server of one's own, plain HTTP."""

    def __init__(self, host: str, *, tls: bool) -> None:
        name, _, port = host.rpartition(":")
        usual = (tls and port == "443") or (not tls and port == "80")
        self._base = f"{'https' if tls else 'http'}://{name if usual else host}"

    def get(self, path: str, parameters: Mapping[str, object]) -> dict[str, Any]:
        """Fetch a JSON object.

        Raises:
            PermissionError: no grant covers the host.
            ConnectionError: the service cannot be reached, refuses, or answers what is no JSON.
        """
        url = f"{self._base}{path}?{urllib.parse.urlencode(parameters)}"
        request = urllib.request.Request(url, headers={"Accept": "application/json", "User-Agent": "remit-weather"})
        try:
            with _opener.open(request, timeout=TIMEOUT) as response:
                return self._parse(response.read(_LARGEST))
        except urllib.error.HTTPError as error:
            with error:
                raise ConnectionError(f"{self._base} answered {error.code}{_reason(error)}") from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, PermissionError):
                raise error.reason from None
            raise ConnectionError(f"{self._base} cannot be reached: {error.reason}") from None
        except TimeoutError:
            raise ConnectionError(f"{self._base} did not answer within {TIMEOUT:.0f} s") from None

    def _parse(self, body: bytes) -> dict[str, Any]:
        try:
            value = json.loads(body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise ConnectionError(f"{self._base} answered something that is no JSON object")
        return value


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return f": {json.loads(error.read(10_000))['reason']}"
    except (ValueError, KeyError, TypeError, OSError):
        return ""
