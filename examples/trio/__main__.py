"""A program (host), an extension and a pack together: what each brings, and where it runs.

    python -m examples.trio

The program makes a deployment in a temporary folder and lets a scripted model answer. The pack of `examples/pack`
brings a skill, which runs confined in a cell. The extension of `examples/extension` brings a rule for the model, a
second place for the log, and an observer; it is trusted, and runs in this process.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from remit import Agent, Deployment, ScriptedModel
from remit.deployment.enable import enable
from remit.deployment.extending import enable_extension
from remit.deployment.init import init
from remit.models.scripted import ask
from remit_sandbox.probe import probe

EXAMPLES = Path(__file__).parent.parent
PACK = EXAMPLES / "pack" / "remit-greet"
EXTENSION = EXAMPLES / "extension" / "remit-house"


def install(project: Path, site: Path) -> None:
    """Do what `pip install --target SITE PROJECT` does, without reaching for an index."""
    with tempfile.TemporaryDirectory() as built:
        wheel = next(WheelBuilder(str(project)).build(directory=built, versions=["standard"]))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)


def prepare(folder: Path, site: Path) -> None:
    """Make a deployment that enables the pack and the extension, as a person who agrees would."""
    init(folder, enforcement="available" if probe().missing else "kernel").apply()
    enable(folder, "greet", paths=[str(site)]).apply()
    settings = {"rule": "Answer in one sentence.", "log": "house.jsonl"}
    proposal = enable_extension(folder, "house", settings=settings, paths=[str(site)])
    print(f"enabling the extension {proposal.changes.rank}: {proposal.changes.lines()[0]}")
    proposal.apply()


def main() -> None:
    """Run one question, and show who brought what."""
    with tempfile.TemporaryDirectory() as place:
        folder, site = Path(place) / "deployment", Path(place) / "site-packages"
        folder.mkdir()
        for project in (PACK, EXTENSION):
            install(project, site)
        prepare(folder, site)
        model = ScriptedModel([ask("greet.hello", name="Ada Lovelace"), "She is greeted."])
        with Deployment.open(folder, paths=[str(site)]) as deployment, Agent(deployment, model=model) as agent:
            result = agent.run("Greet Ada Lovelace.")
            print(f"{result.answer} {result.calls[0].value}")
            print(f"confined: {agent.skills['greet.hello'].confined}")
            for item in deployment.extensions.items:
                print(f"{item.kind} {item.name}, from {item.origin}")
            print(f"the prompt ends: {model.requests[0].messages[0].content.splitlines()[-1]}")
        lines = (folder / "house.jsonl").read_text(encoding="utf-8").splitlines()
        print("logged:", [event for line in lines if (event := json.loads(line)["event"]).startswith("call.")])
        import remit_house  # type: ignore[import-not-found]  # loaded by the deployment

        print("observed:", dict(remit_house.CALLS))


if __name__ == "__main__":
    main()
