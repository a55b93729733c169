"""Handlers that outlive their limit."""

import signal
import time
from collections.abc import Generator


def sleep(seconds: float) -> float:
    """Sleep.

    Args:
        seconds: how long
    """
    time.sleep(seconds)
    return seconds


def spin(seconds: float) -> int:
    """Keep the processor busy.

    Args:
        seconds: how long
    """
    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end:
        rounds += 1
    return rounds


def stubborn(seconds: float) -> float:
    """Ignore every signal that can be ignored, then spin.

    Args:
        seconds: how long
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    spin(seconds)
    return seconds


def patient(steps: int, pause: float = 0.05) -> Generator[str, None, int]:
    """Report every step.

    Args:
        steps: how many
        pause: seconds between them
    """
    for number in range(steps):
        time.sleep(pause)
        yield f"step {number + 1} of {steps}"
    return steps
