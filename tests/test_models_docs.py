"""docs/models.md: its tables are configurations, its program runs, and it leaves no key of a behaviour out."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from remit.deployment.config import BehaviourConfig, Config

PAGE = (Path(__file__).parent.parent / "docs/models.md").read_text(encoding="utf-8")
TABLES = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_a_configuration(table: str) -> None:
    config = Config.model_validate(tomllib.loads(table))
    assert config.model.name
    for extension, settings in config.extensions.settings.items():
        module = __import__(f"remit_{extension}.model", fromlist=["Settings"])
        assert module.Settings.of(settings)


def test_the_program_runs() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "It is [(2, 3)].\n", done.stderr


def test_every_key_of_a_behaviour_is_there() -> None:
    for key in BehaviourConfig.model_fields:
        assert f"`{key}`" in PAGE, key
