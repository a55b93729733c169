"""Token buckets: how often one address, and one person, may ask."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How much is taken from whom, in each process.

    Attributes:
        requests: a minute, from one address, and as many from one person.
        burst: at once.
        failures: a minute that one address may fail to identify itself, and as many at once.
        runs: of one person at the same time.
        all_runs: of everybody at the same time.
    """

    requests: float = 600.0
    burst: int = 120
    failures: int = 10
    runs: int = 4
    all_runs: int = 64


class Buckets:
    """A bucket a key, each full at first and filled up steadily; the longest unused ones are forgotten."""

    def __init__(
        self, *, a_minute: float, burst: int, most: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Say how fast buckets fill, what they hold, and how many are kept."""
        self._speed = a_minute / 60.0
        self._burst = float(burst)
        self._most = most
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take one; return 0.0, or the seconds after which there is one again."""
        left, now = self._left(key)
        wait = self._wait(left)
        self._buckets[key] = (left if wait else left - 1.0, now)
        self._buckets.move_to_end(key)
        while len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return wait

    def wait(self, key: str) -> float:
        """Return what `take` would return, and take nothing."""
        return self._wait(self._left(key)[0])

    def _left(self, key: str) -> tuple[float, float]:
        now = self._clock()
        left, then = self._buckets.get(key, (self._burst, now))
        return min(self._burst, left + (now - then) * self._speed), now

    def _wait(self, left: float) -> float:
        return 0.0 if left >= 1.0 else (1.0 - left) / self._speed


def network_of(address: str) -> str:
    """Return what counts as one address: an IPv6 customer has a whole /64."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def is_loopback(address: str) -> bool:
    """Tell whether an address is this machine's own."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback
