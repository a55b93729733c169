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


def test_keys_tokens_and_files(tmp_path: Path) -> None:
    here = Here(place=tmp_path).make("files", "memory")
    made = here.remit("serve", "token", "add", "ada", "--role", "approver", "--json").json
    assert (made["name"], made["role"]) == ("ada", "approver") and made["token"].startswith("remit_")
    assert here.remit("serve", "token", "remove", "ada", "--json").json == {"removed": "ada"}
    assert here.remit("signoff", "people", "--add", "bea", "--json").json["name"] == "bea"
    assert here.remit("signoff", "people", "--remove", "bea", "--json").json == {"removed": "bea"}
    place = here.folder / "facts.json"
    assert here.remit("memory", "export", str(place), "--json").json == {"file": str(place), "facts": 0, "notes": 0}
    assert here.remit("memory", "export", f"{place}2").out == f"wrote {place}2: 0 facts and 0 notes\n"
    assert here.remit("memory", "export", "--json").json == {"who": here.remit("memory", "export").json["who"]} | {
        "facts": [],
        "notes": [],
    }
    log = str(here.folder / "log.jsonl")
    told = here.remit("log", "export", log, "--json").json
    assert told["file"] == log and told["records"] == len(Path(log).read_text().splitlines()) and not told["erased"]
    key = here.remit("log", "key", "--json").json["key"]
    assert here.remit("log", "key").out == f"{key}\n"
    proof = here.remit("log", "prove", "1", "--json").json
    assert proof["record"] == 1 and "tlog-proof" in proof["proof"]
    out = str(here.folder / "one.tlog-proof")
    assert here.remit("log", "prove", "1", "--out", out, "--json").json == {"record": 1, "file": out}
    copy = here.folder / "copy.db"
    told = here.remit("log", "backup", str(copy), "--json").json
    assert told == {"file": str(copy), "bytes": copy.stat().st_size}
    fresh = here.remit("log", "key", "--new", f"file:{here.place / 'new.key'}", "--json").json
    assert fresh["made"] == f"file:{here.place / 'new.key'}" and fresh["key"] != key
