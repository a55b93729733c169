"""What loads of an extension, when, and what is said of the rest."""

from __future__ import annotations

import compileall
import importlib.util
import os
import sys
from pathlib import Path

import pytest

from remit.deployment.deployment import Deployment
from remit.deployment.extending import disable_extension, enable_extension
from remit.deployment.trust import propose_trust, trust
from remit.errors import DeploymentError, NotTrusted, UsageError
from remit.extensions.installed import find_extensions
from remit.extensions.values import ExtensionProblem
from remit.packs.lock import format_lock, parse_lock
from tests.extension_parts import NOWHERE, Place, make_place

GOOD = """
    from pathlib import Path
    Path(__file__).parent.with_suffix(".imported").touch()

    @hookimpl
    def add_prompt_fragments(setup):
        return {"manners": "Be brief with " + setup.settings.get("who", "everybody") + "."}
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def imported(root: Path) -> bool:
    return root.with_suffix(".imported").exists()


def only_problem(deployment: Deployment) -> ExtensionProblem:
    (problem,) = deployment.extensions.problems
    return problem


def test_only_what_the_deployment_names_is_imported(place: Place) -> None:
    named, other = place.write("named", GOOD), place.write("other", GOOD)
    assert set(find_extensions([str(place.site)]).extensions) == {"named", "other"}
    with place.open() as deployment:
        assert deployment.extensions.items == ()
    place.enable("named")
    assert not imported(named), "enabling imports nothing"
    with place.open() as deployment:
        assert deployment.extensions.loaded == ("named",) and deployment.extensions.problems == ()
        (item,) = deployment.extensions.items
        assert (item.kind, item.name, item.origin) == ("prompt fragment", "manners", "named (named-ext 1.0)")
    assert imported(named) and not imported(other)


def test_settings_of_an_extension_reach_it(place: Place) -> None:
    place.add("manners", GOOD, settings={"who": "Ada"})
    with place.open() as deployment:
        assert deployment.extensions.fragments == ("Be brief with Ada.",)


def test_enabling_is_shown_ranked_and_locked(place: Place) -> None:
    place.write("sink", GOOD)
    proposal = enable_extension(place.folder, "Sink", required=True, paths=[str(place.site)], managed=NOWHERE)
    assert proposal.changes.rank == "widens" and proposal.changes.exit_code == 4
    text = "\n".join(proposal.lines)
    assert "extension sink (sink-ext 1.0), 3 files" in text and "runs in the host, not confined" in text
    assert "enabled = ['sink']" in text and "required = ['sink']" in text
    proposal.apply()
    lock = (place.folder / "remit.lock").read_text()
    assert 'extensions.sink.files = "sha256:' in lock
    assert format_lock(parse_lock(lock)) == lock


def test_an_extension_that_a_person_did_not_accept_loads_nothing(place: Place) -> None:
    root = place.write("named", GOOD)
    path = place.folder / "remit.toml"
    path.write_text(path.read_text() + '\n[extensions]\nenabled = ["named"]\n')
    with pytest.raises(NotTrusted, match="extension named is enabled") as caught:
        place.open()
    assert caught.value.exit_code == 4
    assert any(
        "named runs in the host, not confined, once it is locked" in line for line in propose_trust(place.folder).lines
    )
    with place.open(require_trust=False) as deployment:
        assert deployment.extensions.items == ()
    trust(place.folder)
    with place.open() as deployment:
        assert "it is not locked" in only_problem(deployment).reason
        assert only_problem(deployment).remedy == "remit extensions enable named"
    assert not imported(root)


def test_a_changed_extension_does_not_load_until_it_is_accepted_again(place: Place) -> None:
    root = place.add("named", GOOD)
    (root / "__init__.py").write_text((root / "__init__.py").read_text().replace("brief", "rude"))
    with place.open() as deployment:
        problem = only_problem(deployment)
        assert "differs from remit.lock and was not loaded: its files changed" in problem.reason
        assert "remit extensions enable named" in problem.remedy and deployment.extensions.items == ()
    assert not imported(root)
    proposal = enable_extension(place.folder, "named", paths=[str(place.site)], managed=NOWHERE)
    assert "  its files changed" in proposal.lines and proposal.changes.rank == "unranked"
    proposal.apply()
    with place.open() as deployment:
        assert deployment.extensions.fragments == ("Be rude with everybody.",)


def test_a_file_that_is_put_beside_the_others_counts(place: Place) -> None:
    root = place.add("named", GOOD)
    (root / "json.py").write_text("")
    with place.open() as deployment:
        assert "its files changed" in only_problem(deployment).reason


def test_a_cached_compilation_that_differs_from_the_source_is_not_run(place: Place) -> None:
    code = '@hookimpl\ndef add_prompt_fragments():\n    return {"said": "accepted"}\n'
    root = place.add("cached", code)
    source = root / "__init__.py"
    honest, facts = source.read_text(), source.stat()
    source.write_text(honest.replace("accepted", "poisoned"))
    os.utime(source, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert compileall.compile_file(source, quiet=1, force=True)
    source.write_text(honest)
    os.utime(source, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert b"poisoned" in Path(importlib.util.cache_from_source(str(source))).read_bytes()
    with place.open() as deployment:
        assert deployment.extensions.fragments == ("accepted",)


def test_a_module_that_changes_after_the_check_is_not_imported(place: Place) -> None:
    code = """
        @hookimpl
        def add_prompt_fragments():
            from . import late
            return {"late": late.TEXT}
    """
    root = place.write("late", code, files={"late.py": 'TEXT = "accepted"\n'})
    place.enable("late")
    with place.open() as deployment:
        assert deployment.extensions.fragments == ("accepted",)
    sys.modules.pop(f"{root.name}.late")
    __import__(root.name).__dict__.pop("late")
    (root / "late.py").write_text('TEXT = "changed"\n')
    with pytest.raises(ImportError, match=r"late\.py has changed"):
        __import__(f"{root.name}.late")


def test_another_version_in_the_same_process_asks_for_a_new_start(place: Place) -> None:
    root = place.add("named", GOOD)
    place.open().close()
    (root / "__init__.py").write_text((root / "__init__.py").read_text() + "# changed\n")
    place.enable("named")
    with place.open() as deployment:
        assert "another version of it is loaded in this process" in only_problem(deployment).reason


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise ZeroDivisionError('no luck')", "it raises when it is imported: ZeroDivisionError: no luck"),
        ("import sys\nsys.exit(3)", "it raises when it is imported: SystemExit: 3"),
        ("import no_such_module_at_all", "ModuleNotFoundError"),
        ("def broken(:\n    pass", "SyntaxError"),
        ("x = 1", "it implements no hook"),
        (
            "@hookimpl\ndef add_dialect(setup):\n    return {}",
            "add_dialect, which is no hook; did you mean add_dialects",
        ),
        ("@hookimpl\ndef add_dialects(config):\n    return {}", "its hooks do not fit"),
        ("@hookimpl\nasync def observe_call_end(call):\n    pass", "is async, and would never run"),
        ("@hookimpl\ndef add_dialects():\n    return ['x']", "gave list where a mapping of names is due"),
        ("@hookimpl\ndef add_dialects():\n    return {'x': 1}", "the dialect 'x' that it gives cannot be used"),
        ("@hookimpl\ndef add_audit_sinks():\n    return {'log': 1}", "it has no method write"),
        ("@hookimpl\ndef add_secret_providers():\n    return {'env': str}", "that name is Remit's own"),
        ("@hookimpl\ndef add_secret_providers():\n    raise OSError('down')", "its hook add_secret_providers failed"),
        ("@hookimpl\ndef add_prompt_fragments():\n    return {'A b': 'x'}", "lower-case letters"),
        ("@hookimpl\ndef add_prompt_fragments():\n    return {'ab': ''}", "it is no text"),
    ],
    ids=lambda value: value[:40].replace("\n", " "),
)
def test_a_broken_extension_is_named_and_left_out_and_the_others_work(place: Place, code: str, says: str) -> None:
    place.add("broken", code)
    place.add("named", GOOD)
    for _ in range(2):
        with place.open() as deployment:
            problem = only_problem(deployment)
            assert problem.extension == "broken" and says in problem.reason, problem
            assert deployment.extensions.loaded == ("named",)


def test_one_that_is_required_stops_the_start(place: Place) -> None:
    place.add("broken", "raise ZeroDivisionError", required=True)
    with pytest.raises(DeploymentError, match=r"required extension broken: it raises"):
        place.open()
    with pytest.raises(DeploymentError, match="does not start without broken"):
        place.open(extensions=False)


def test_an_import_that_fails_leaves_nothing_behind(place: Place) -> None:
    root = place.write(
        "broken",
        "import sys\nsys.meta_path.insert(0, object())\nfrom . import part\nraise ValueError",
        files={"part.py": ""},
    )
    place.enable("broken")
    finders = list(sys.meta_path)
    place.open().close()
    assert [name for name in sys.modules if name.startswith(root.name)] == [] and sys.meta_path == finders


def test_all_off_by_variable_and_by_flag(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    root = place.add("named", GOOD)
    with place.open(extensions=False) as deployment:
        assert deployment.extensions.off and "extensions are off in this run: named" in deployment.notes
    monkeypatch.setenv("REMIT_EXTENSIONS", "off")
    with place.open() as deployment:
        assert deployment.extensions.off and deployment.extensions.items == ()
    assert not imported(root)
    monkeypatch.setenv("REMIT_EXTENSIONS", "no")
    with pytest.raises(UsageError, match="REMIT_EXTENSIONS is 'no'"):
        place.open()


def test_one_can_be_blocked_by_name_in_any_spelling(place: Place) -> None:
    root = place.write("my_sink", GOOD)
    place.enable("my-sink")
    place.edit('enabled = ["my_sink"]', 'enabled = ["my_sink"]\nblocked = ["My-Sink", "elsewhere"]')
    with place.open() as deployment:
        assert only_problem(deployment).reason == "it is blocked"
        assert "extension elsewhere is blocked and not installed" in deployment.notes
    assert not imported(root)
    place.edit('"elsewhere"', '"my_snik"')
    with pytest.raises(DeploymentError, match="did you mean 'my_sink'"):
        place.open()


def test_the_managed_file_is_a_ceiling_and_its_blocks_hold(place: Place, tmp_path: Path) -> None:
    place.add("named", GOOD)
    managed = tmp_path / "managed.toml"
    managed.write_text('policy = 1\n[extensions]\nblocked = ["named"]\n')
    with place.open(managed=managed) as deployment:
        assert only_problem(deployment).reason == "it is blocked"
    with pytest.raises(DeploymentError, match="does not permit extension named"):
        enable_extension(place.folder, "named", paths=[str(place.site)], managed=managed)
    managed.write_text('policy = 1\n[extensions]\nenabled = ["Named"]\n')
    with place.open(managed=managed) as deployment:
        assert deployment.extensions.loaded == ("named",)
    managed.write_text("policy = 1\n[extensions]\nenabled = []\n")
    with place.open(managed=managed) as deployment:
        assert deployment.extensions.items == ()


def test_a_name_that_matches_nothing_is_an_error_with_the_nearest_and_the_line(place: Place) -> None:
    place.add("vault", GOOD)
    place.edit('enabled = ["vault"]', 'enabled = ["vault", "valt"]')
    with pytest.raises(DeploymentError, match=r"remit\.toml:\d+ enables extension 'valt'.*did you mean 'vault'"):
        place.open()
    place.edit('"vault", "valt"]', '"vault"]\nrequired = ["valt"]')
    with pytest.raises(DeploymentError, match="required names 'valt', which is not enabled"):
        place.open()
    for wrong in ("valt", "vault-ext", "Vault_Ext"):
        with pytest.raises(UsageError, match="did you mean 'vault'"):
            enable_extension(place.folder, wrong, paths=[str(place.site)], managed=NOWHERE)


def test_what_two_extensions_give_under_one_name_is_used_of_neither(place: Place) -> None:
    place.add("one", GOOD)
    place.add("two", GOOD)
    with place.open() as deployment:
        assert deployment.extensions.items == ()
        reasons = {problem.extension: problem.reason for problem in deployment.extensions.problems}
    assert "prompt fragment manners is also given by two (two-ext 1.0)" in reasons["one"]
    assert "also given by one (one-ext 1.0)" in reasons["two"]


def test_two_distributions_with_one_extension_name(place: Place) -> None:
    place.add("named", GOOD)
    place.write("named", GOOD, distribution="another-one")
    with place.open() as deployment:
        assert "another-one and named-ext both ship an extension of this name" in only_problem(deployment).reason


@pytest.mark.parametrize(
    ("name", "entry", "says"),
    [
        ("Named", None, "is no name for an extension"),
        ("named", "json", "has a name that is taken"),
        ("named", "remit.agent", "has a name that is taken"),
        ("named", "a b", "its entry point names 'a b'"),
        ("named", "not_there", "ships no package not_there"),
    ],
)
def test_one_that_is_not_well_formed_is_named(place: Place, name: str, entry: str | None, says: str) -> None:
    place.write(name, GOOD, entry=entry)
    found = find_extensions([str(place.site)])
    assert not found.extensions and says in found.problems[name].reason
    with pytest.raises(UsageError, match="extension"):
        place.enable(name)


def test_the_object_of_an_entry_point_may_lie_in_a_module(place: Place) -> None:
    code = """
        class Plugin:
            @hookimpl
            def add_prompt_fragments(self):
                return {"from_object": "Hello."}

        plugin = Plugin()
    """
    place.write("thing", code, package="ext_thing_object", entry="ext_thing_object:plugin")
    place.enable("thing")
    with place.open() as deployment:
        assert deployment.extensions.fragments == ("Hello.",)


def test_a_namesake_that_the_program_imported_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write("shadow", GOOD, package="ext_shadowed")
    place.enable("shadow")
    elsewhere = place.folder / "ext_shadowed"
    elsewhere.mkdir()
    (elsewhere / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(place.folder))
    __import__("ext_shadowed")
    try:
        with place.open() as deployment:
            reason = only_problem(deployment).reason
            assert "a module named ext_shadowed is imported already" in reason and str(elsewhere) in reason
    finally:
        del sys.modules["ext_shadowed"]


def test_disabling_keeps_lock_and_settings_and_asks_nobody_twice(place: Place) -> None:
    place.add("named", GOOD, settings={"who": "Ada"})
    with pytest.raises(DeploymentError, match="did you mean 'named'"):
        disable_extension(place.folder, "nmaed", managed=NOWHERE)
    disable_extension(place.folder, "named", managed=NOWHERE).apply()
    with place.open() as deployment:
        assert deployment.extensions.items == () and "named" in deployment.lock.extensions
        assert deployment.config.extensions.settings == {"named": {"who": "Ada"}}
    proposal = enable_extension(place.folder, "named", paths=[str(place.site)], managed=NOWHERE)
    assert "it is what was accepted before" in proposal.lines and proposal.changes.rank == "widens"


def test_enabling_a_pack_keeps_the_locks_of_extensions(place: Place) -> None:
    from remit.deployment.enable import enable
    from tests.dist_info import write_pack

    place.add("named", GOOD)
    write_pack(place.site, "tide")
    enable(place.folder, "tide", paths=[str(place.site)], managed=NOWHERE).apply()
    with place.open() as deployment:
        assert deployment.extensions.loaded == ("named",) and "tide.run" in deployment.skills
