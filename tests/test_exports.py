"""`__all__` is exactly what can be imported, and importing costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import remit
import remit.evaluation
import remit.extensions
import remit_sandbox


@pytest.mark.parametrize("package", [remit, remit.evaluation, remit.extensions, remit_sandbox])
def test_every_public_name_can_be_imported(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert sorted(names) == sorted(set(names))
    for name in names:
        assert getattr(package, name) is not None
    assert set(names) <= set(dir(package))


@pytest.mark.parametrize("package", [remit, remit_sandbox])
def test_an_unknown_name_is_an_attribute_error(package: object) -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        package.nonsense  # type: ignore[attr-defined]  # noqa: B018


HEAVY = ("pydantic", "httpx2", "sqlite3", "jsonschema_rs", "asyncio", "importlib.metadata", "tomlkit", "simpleeval")


@pytest.mark.parametrize("package", ["remit", "remit_sandbox"])
def test_importing_stays_light(package: str) -> None:
    program = f"import sys, {package}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import site; site.main()\n" + program], capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_sandbox_never_imports_remit() -> None:
    program = (
        "import sys, remit_sandbox, remit_sandbox.sandbox, remit_sandbox.inside.serve, remit_sandbox.broker\n"
        "print([name for name in sys.modules if name == 'remit' or name.startswith('remit.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
