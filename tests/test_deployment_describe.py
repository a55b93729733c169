"""What a model reads of a skill in the deployment's own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit import Agent, ScriptedModel
from remit.cli.main import run
from remit.deployment.files import read_files
from remit.deployment.summary import summary
from remit.deployment.trust import trust
from tests.test_loop_prompt import deployed


def test_a_deployment_describes_skills_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = deployed(tmp_path, "")
    monkeypatch.chdir(folder)
    assert run(["packs", "enable", "calc", "--yes"]) == 0
    plain = (folder / "remit.toml").read_text()

    def problems_with(describe: str) -> list[str]:
        table = f"[packs.calc]\ndescribe = {describe}\n"
        (folder / "remit.toml").write_text(plain.replace("[packs.calc]\n", table))
        trust(folder)
        with Agent(folder, model=ScriptedModel([])) as agent:
            assert agent.deployment is not None
            shown.update({tool.name: tool for tool in agent.preview().request.tools})
            return [problem.reason for problem in agent.deployment.problems]

    shown = {}
    capsys.readouterr()
    assert not problems_with('{ evaluate = "Work a sum out.", "evaluate.expression" = "The sum." }')
    tool = shown["calc__evaluate"]
    assert tool.description == "Work a sum out."
    assert tool.parameters["properties"]["expression"]["description"].startswith("The sum.")
    assert 'the model reads of evaluate: "Work a sum out."' in "\n".join(summary(read_files(folder)))
    (wrong,) = problems_with('{ evalute = "x" }')
    assert "evalute" in wrong and "did you mean 'evaluate'" in wrong
    (wrong,) = problems_with('{ "evaluate.expr" = "x" }')
    assert "evaluate.expr" in wrong


def test_nobody_can_say_whether_other_words_are_wider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = deployed(tmp_path, "\n[packs.calc]\nenabled = true\n")
    monkeypatch.chdir(folder)
    with (folder / "remit.toml").open("a") as file:
        file.write('describe = { evaluate = "Work a sum out." }\n')
    run(["apply"])
    assert "? packs.calc.describe" in capsys.readouterr().out
