"""A suite is answered and recorded, then replayed without any model, and the two are compared.

python -m examples.eval
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

SUITE = Path(__file__).with_name("suite.yaml")


def main() -> int:
    """Play the example; return 0 when every case passed both times."""
    from remit.cli import screen
    from remit.errors import RemitError

    try:
        return play()
    except RemitError as error:
        screen.error(error.message, error.remedy)
        return error.exit_code


def play() -> int:
    """Answer and record the suite, replay it, and compare."""
    from examples.eval.rehearsal import reply
    from remit import ScriptedModel
    from remit.cli.eval_text import show, show_comparison
    from remit.evaluation import compare, evaluate, read_baseline

    with tempfile.TemporaryDirectory(prefix="remit-eval-example-") as place:
        folder = deployment(Path(place))
        turns, saved = Path(place, "turns.jsonl"), Path(place, "baseline.json")
        first = evaluate(SUITE, folder, model=ScriptedModel(reply, name="rehearsed"), record=turns)
        saved.write_text(json.dumps(first.to_json()), "utf-8")
        again = evaluate(SUITE, folder, replay=turns, jobs=2)
        show(again)
        show_comparison(compare(read_baseline(saved), again), "the recording")
    return 0 if first.success == again.success == 1 else 1


def deployment(place: Path) -> Path:
    """Make a deployment with the packs calc and files, and a state of its own."""
    from remit.deployment.enable import enable
    from remit.deployment.init import init

    os.environ["REMIT_STATE"] = str(place / "state")
    folder = place / "deployment"
    folder.mkdir()
    init(folder, unattended="park", enforcement="available").apply()
    for pack in ("calc", "files"):
        enable(folder, pack).apply()
    return folder


if __name__ == "__main__":
    sys.exit(main())
