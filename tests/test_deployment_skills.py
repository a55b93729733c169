"""One pack's skills: isolation, secrets, targets, limits, and what leaves a single skill out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from remit.deployment.config import ExtensionsConfig
from remit.deployment.deployment import Deployment
from remit.deployment.plugins import check_plugins
from remit.deployment.try_pack import try_pack
from remit.errors import DeploymentError

CODE = '''\
from pathlib import Path

def one(path: Path, url: str = "") -> str:
    """Do one thing.

    Args:
        path: where
        url: whence
    """
    return str(path)

def two() -> dict:
    """Do another thing."""
    return {}
'''
HEAD = 'manifest = 1\n[pack]\nname = "made"\n'
ONE = '[[skill]]\nname = "one"\nhandler = "made_pack:one"\neffect = "read"\n'
TWO = '[[skill]]\nname = "two"\nhandler = "made_pack:two"\neffect = "read"\n'


@pytest.fixture
def tried(tmp_path: Path) -> Callable[[str], Deployment]:
    def build(manifest: str) -> Deployment:
        package = tmp_path / "made_pack"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text(CODE)
        (package / "pack.toml").write_text(HEAD + manifest)
        return try_pack(package, enforcement="available")

    return build


def test_a_skill_that_starts_programs_has_a_process_of_its_own(tried: Callable[[str], Deployment]) -> None:
    with tried(f'[permissions]\nexec = ["sh"]\n{ONE}uses = ["exec"]\n{TWO}') as deployment:
        one, two = deployment.skills["made.one"], deployment.skills["made.two"]
        assert one.effect == "external" and two.effect == "read"
        assert one.cell is not None and two.cell is not None
        assert one.cell.isolation == "process" and one.cell.rights.limits.processes > 0
        assert two.cell.isolation == "auto" and two.cell.rights.limits.processes == 0


def test_shared_memory_is_for_the_skill_that_asks_for_it(tried: Callable[[str], Deployment]) -> None:
    with tried(f'[permissions]\nshm = true\n{ONE}uses = ["shm"]\n{TWO}') as deployment:
        one, two = deployment.skills["made.one"], deployment.skills["made.two"]
        assert one.cell is not None and two.cell is not None
        assert one.cell.rights.shm and not two.cell.rights.shm


def test_a_secret_reaches_the_skill_that_uses_it_and_no_other(
    tried: Callable[[str], Deployment], monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = f'[permissions]\nsecrets = ["token"]\n{ONE}uses = ["secrets"]\n{TWO}'
    with tried(manifest) as deployment:
        assert set(deployment.skills) == {"made.two"}
        assert "TOKEN is not set" in deployment.problems[0].reason
    monkeypatch.setenv("TOKEN", "s3cret")
    with tried(manifest) as deployment:
        one, two = deployment.skills["made.one"].cell, deployment.skills["made.two"].cell
        assert one is not None and two is not None
        assert one.secrets == {"token": "s3cret"} and two.secrets == {}
        assert "s3cret" not in repr(deployment.skills["made.one"])


def test_targets_come_from_the_manifest_and_from_types(tried: Callable[[str], Deployment]) -> None:
    with tried(f'{ONE}targets = {{ url = "url" }}\n') as deployment:
        assert deployment.skills["made.one"].targets == {"path": "path", "url": "url"}


def test_what_the_manifest_says_reaches_the_skill(tried: Callable[[str], Deployment]) -> None:
    more = (
        'timeout = 5\nimpact = ["money"]\nreturns = ["private"]\nkeep = ["id"]\nsecret_arguments = ["url"]\n'
        'limits = { memory = "64MiB" }\nisolation = "fresh"\n'
        '[[skill.examples]]\nquestion = "Which?"\narguments = { path = "a" }\n'
    )
    with tried(f'[permissions]\nlimits = {{ memory = "64MiB" }}\n{ONE}{more}') as deployment:
        one = deployment.skills["made.one"]
        assert (one.timeout, one.keep) == (5.0, ("id",))
        assert one.impact == {"money"}
        assert one.labels == {"untrusted", "private"} and one.secret_arguments == {"url"}
        assert one.examples == ({"question": "Which?", "arguments": {"path": "a"}},)
        assert one.cell is not None and one.cell.rights.limits.memory == 64 * 1024**2
        assert one.cell.isolation == "fresh"


def test_a_cache_holds_only_for_what_is_effectively_a_read(tried: Callable[[str], Deployment]) -> None:
    cached = f"{TWO}idempotent = true\ncache = 60\n"
    with tried(cached) as deployment:
        assert deployment.skills["made.two"].cache == 60.0
    with tried(f'[permissions]\nfs.write = ["${{workspace}}/**"]\n{cached}uses = ["fs.write"]\n') as deployment:
        assert deployment.skills["made.two"].effect == "write"
        assert deployment.skills["made.two"].cache == 0.0


def test_a_pydantic_plugin_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYDANTIC_DISABLE_PLUGINS", raising=False)
    check_plugins(ExtensionsConfig())
    info = tmp_path / "spy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: spy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pydantic]\nwatch = spy:plugin\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(DeploymentError, match="watch of spy"):
        check_plugins(ExtensionsConfig())
    check_plugins(ExtensionsConfig(pydantic_plugins=("watch",)))
    for value in ("__all__", "watch, other"):
        monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", value)
        check_plugins(ExtensionsConfig())
