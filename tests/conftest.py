"""What every test shares: a private state folder, and the skip of confinement tests where nothing can confine."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.lending import lending

# No test depends on how fast the machine is. A test that suppresses another check has to repeat this one.
settings.register_profile("remit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("remit")


# A background job of a shell ignores SIGINT, and its children would, too: tests of Ctrl-C need the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _missing_confinement() -> tuple[str, ...]:
    from remit_sandbox.probe import probe

    return probe().missing


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("confinement")]
    missing = _missing_confinement() if marked else ()
    for item in marked if missing else ():
        item.add_marker(pytest.mark.skip(reason="this machine cannot confine: " + "; ".join(missing)))


OF_THEIR_OWN = ("tests.escape.", "tests.test_break_cells", "tests.test_embedding", "tests.test_sandbox_")
"""Modules whose sandboxes each start and end a supervisor; those of all others are lent one."""


@pytest.fixture(autouse=True, scope="module")
def supervisors(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start no supervisor where another sandbox of this process has left one that would do."""
    with nullcontext() if request.module.__name__.startswith(OF_THEIR_OWN) else lending():
        yield


@pytest.fixture(autouse=True)
def private_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test out of the user's own state folder."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("REMIT_STATE", str(folder))
    monkeypatch.delenv("REMIT_TRUST", raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return folder
