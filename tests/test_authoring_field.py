"""Reported faults of other plugin systems that concern authors: what Remit says to each.

The cases are those of the area `plugins` in the project's collection (E18, E20, E23, E26, E29); each names its source.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.authoring.check import check_pack
from remit.authoring.check_project import check_requirements
from remit.authoring.subject import subject
from remit.errors import PackError, UnknownPack
from remit.packs.discovery import discover
from tests.dist_info import write_pack
from tests.test_authoring_check import HEAD, bad_pack, skill

CODE = '''
def run(text: str) -> str:
    """Use it when text is to be returned.

    Args:
        text: any.

    Returns:
        The text.
    """
    return text
'''


def test_e18_a_namespace_package_is_named_without_a_traceback(tmp_path: Path) -> None:
    """python/importlib_resources#311: `acme/tide/pack.toml` without `acme/__init__.py`, and a dotted entry point."""
    package = tmp_path / "src" / "acme" / "tide"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(CODE)
    (package / "pack.toml").write_text("manifest = 1\n" + HEAD.replace("bad", "tide") + skill("run"))
    (finding,) = check_pack(tmp_path).findings
    assert finding.code == "project-unreadable" and "src/<package>/" in finding.remedy
    write_pack(tmp_path / "site", groups={"remit.packs": {"tide": "acme.tide"}})
    (problem,) = discover([str(tmp_path / "site")]).problems
    assert "not a top-level package" in problem.reason


def test_e20_a_package_or_distribution_name_leads_to_the_packs_name(tmp_path: Path) -> None:
    """pytest-dev/pytest#9167: import name, entry point and distribution differ."""
    write_pack(tmp_path, "tide", distribution="acme-tide", package="tide_pack")
    for written in ("tide_pack", "acme-tide", "tides"):
        with pytest.raises(UnknownPack, match="did you mean tide"):
            check_pack(written, paths=[str(tmp_path)])
    assert check_pack("tide", paths=[str(tmp_path)]).pack == "tide"


@pytest.mark.parametrize(
    ("requires", "conflicts"),
    [
        ('"simpleeval<0.9"', True),
        ('"pydantic==2.0"', True),
        ('"Msgpack===1.0"', True),
        ('"pydantic>=2"', False),
        ('"simpleeval"', False),
        ('"requests==2.0"', False),
    ],
)
def test_e23_and_e26_a_pack_may_not_force_what_remit_needs(tmp_path: Path, requires: str, conflicts: bool) -> None:
    """jupyter-server/jupyter_server#710, home-assistant/core#181913: pins that downgrade the host."""
    with subject(bad_pack(tmp_path, HEAD + skill("run"), CODE, requires=requires)) as found:
        assert [finding.code for finding in check_requirements(found)] == ["dependency-conflict"] * conflicts


def test_e29_a_package_with_the_name_of_a_standard_module_is_refused(tmp_path: Path) -> None:
    """Pioreactor/pioreactor#447: the library module was returned in the plugin's place."""
    write_pack(tmp_path, "token", package="token")
    with pytest.raises(PackError, match="module token comes from the standard library"):
        discover([str(tmp_path)]).get("token")
    (finding,) = check_pack("token", paths=[str(tmp_path)]).errors
    assert "comes from the standard library" in finding.message
