"""What changes something says with `--json` what it did, and prints nothing else."""

from __future__ import annotations

from pathlib import Path

from tests.in_process import Here
from tests.signoff_parts import parked


def test_making_and_changing_a_deployment(tmp_path: Path) -> None:
    here = Here(place=tmp_path)
    here.folder.mkdir()
    here.site.mkdir()
    made = here.remit("init", "--json", "--enforcement", "available", "--packs", "calc").json
    assert Path(made["made"]) == here.folder / "remit.toml" and made["enabled"] == ["calc"] and made["problems"] == []
    waits = here.remit("packs", "enable", "files", "--json", expect=4).json["packs"][0]
    assert (waits["pack"], waits["applied"], waits["rank"]) == ("files", False, "widens") and waits["lines"]
    done = here.remit("packs", "enable", "files", "--json", "--yes").json["packs"][0]
    assert done["applied"] is True and "write_file" in " ".join(done["skills"])
    narrower = here.remit("packs", "grant", "files", "fs.write=", "--json").json
    assert (narrower["applied"], narrower["rank"]) == (True, "narrows")
    assert here.remit("packs", "disable", "calc", "--json").json["packs"][0]["pack"] == "calc"
    digest = here.remit("trust", "--show", "--json").json["digest"]
    assert here.remit("trust", "--json").json == {"digest": digest, "accepted": True, "lines": []}
    here.edit('write = "ask"', 'write = "allow"')
    refused = here.remit("trust", "--json", expect=4).json
    assert refused["accepted"] is False and any("ask becomes allow" in line for line in refused["lines"])
    assert here.remit("trust", "--json", "--yes").json["accepted"] is True


def test_taking_back_and_removing(tmp_path: Path) -> None:
    here = Here(place=tmp_path).make("files")
    one = parked(here)
    here.remit("signoff", "approve", one["id"], "--digest", one["digest"])
    revoked = here.remit("signoff", "revoke", one["id"][:8], "--json").json
    assert revoked == {"revoked": one["id"], "skill": "files.write_file"}
    kept = here.remit("state", "clean", "--all", "--json", expect=1).json
    assert kept["removed"] is False and kept["kept"][0]["folder"] == str(here.folder)
    assert here.remit("state", "clean", "--all", "--json", "--yes").json["removed"] is True
    assert here.remit("state", "clean", "--json", "--yes").json["removed"] is True
