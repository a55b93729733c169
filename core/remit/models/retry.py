"""Asking an endpoint again: when, how often, and after how long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

T = TypeVar("T")

RETRIED = frozenset({408, 409, 425, 429})
"""Statuses below 500 that a later attempt may mend; every 5xx is one, too."""


class Again(Exception):
    """An attempt failed in a way that another one may mend.

    Attributes:
        pause: seconds that the endpoint asks to wait, None when it does not say.
    """

    def __init__(self, reason: str, *, pause: float | None = None, remedy: str = "") -> None:
        self.pause = pause
        self.remedy = remedy
        super().__init__(reason)


@dataclass(frozen=True, kw_only=True)
class Retries:
    """How an endpoint is asked again.

    Attributes:
        attempts: requests in all.
        first: seconds before the second one; doubled for each further one, with jitter.
        longest: most seconds of any pause, also of one that the endpoint asks for.
    """

    attempts: int = 5
    first: float = 0.5
    longest: float = 60.0

    async def run(self, attempt: Callable[[], Awaitable[T]], on_pause: Callable[[str, float], None]) -> T:
        """Return what `attempt` returns, asking again after `Again`; the last `Again` is raised."""
        try:
            return await attempt()
        except Again as error:
            return await self._after(error, attempt, on_pause)

    async def _after(
        self, first: Again, attempt: Callable[[], Awaitable[T]], on_pause: Callable[[str, float], None]
    ) -> T:
        """Go on after a first attempt that failed; nothing else pays for what can count and pause."""
        from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt
        from tenacity.wait import wait_exponential_jitter

        backoff = wait_exponential_jitter(multiplier=self.first, jitter=self.first, max=self.longest)

        def wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked = error.pause if isinstance(error, Again) else None
            return backoff(state) if asked is None else min(max(asked, 0.0), self.longest)

        def before_sleep(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            on_pause(str(error), state.next_action.sleep if state.next_action else 0.0)

        retrying = AsyncRetrying(
            sleep=asyncio.sleep,
            stop=stop_after_attempt(self.attempts),
            wait=wait,
            retry=retry_if_exception_type(Again),
            before_sleep=before_sleep,
            reraise=True,
        )

        failed = [first]

        async def once() -> T:
            if failed:
                raise failed.pop()
            return await attempt()

        return await retrying(once)


def retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, in either of its forms (RFC 9110, 10.2.3)."""
    if not value:
        return None
    try:
        return max(0.0, float(value)) if float(value) < 1e9 else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
