"""The main job, played: three questions through confined packs, with a real model or a rehearsed one.

make demo        or: python -m examples.demo [--rehearse]
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
QUESTIONS = (
    "北京今天气温多少度？如果比 20 度高，帮我算一下高了百分之几。",
    "How many degrees warmer was the high in Seattle on 2015-07-04 than on 2015-12-25?",
    "Please delete the file weather/old-draft.txt.",
)


def main() -> int:
    """Play the demo; return 0 when every question was answered and nothing was deleted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rehearse", action="store_true", help="use the rehearsed model even if there is a real one")
    options = parser.parse_args()
    from remit.cli import screen

    screen.prepare()
    model, name = find_model(rehearse=options.rehearse)
    screen.say(f"Model: {name}")
    show_enforcement()
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_deployment())
        weather = stack.enter_context(weather_settings())
        enable_packs(folder, weather)
        return play(folder, model)


def find_model(*, rehearse: bool) -> tuple[Any, str]:
    """Return a real model when there is one, else the rehearsed one, and its name for people."""
    from examples.demo.rehearsal import reply
    from remit import OpenAIModel, ScriptedModel
    from remit.models.nearby import endpoints

    for endpoint in () if rehearse else endpoints():
        model = endpoint.model or "gpt-5-mini"
        real = OpenAIModel(model, base_url=endpoint.base_url, api_key=endpoint.api_key)
        return real, f"{model} at {endpoint.base_url} ({endpoint.server})"
    return ScriptedModel(reply), "rehearsed (no OPENAI_API_KEY, and no model server answers on the usual local ports)"


def show_enforcement() -> None:
    """Say what is enforced on this machine, and what is not."""
    from remit.cli import screen
    from remit_sandbox.probe import probe

    found = probe()
    held: dict[str, list[str]] = {}
    for row in found.rows:
        held.setdefault(row.by, []).append(row.right)
    for by, rights in held.items():
        screen.say(f"{'NOT enforced' if by == 'not enforced' else 'Enforced by ' + by}: {', '.join(rights)}")
    for reason in found.missing:
        screen.say(f"  missing: {reason}")


@contextmanager
def temporary_deployment() -> Iterator[Path]:
    """Make a deployment with its own state, and remove both at the end."""
    from remit.deployment.init import init

    with tempfile.TemporaryDirectory(prefix="remit-demo-") as place:
        os.environ["REMIT_STATE"] = str(Path(place, "state"))
        folder = Path(place, "deployment")
        folder.mkdir()
        init(folder, unattended="deny", enforcement="available").apply()
        shutil.copytree(HERE / "workspace", folder / "workspace", dirs_exist_ok=True)
        yield folder


@contextmanager
def weather_settings() -> Iterator[dict[str, Any]]:
    """Yield settings for the weather pack: none with a network, a local server's address without."""
    from examples.demo.weather_server import WeatherServer
    from remit.cli import screen

    if reachable("api.open-meteo.com", 443):
        screen.say("Weather: Open-Meteo over HTTPS")
        yield {}
        return
    with WeatherServer() as server:
        address = f"127.0.0.1:{server.port}"
        screen.say(f"Weather: no network here, so a local server at {address} plays Open-Meteo, with invented weather")
        yield {"endpoint": address, "geocoder": address, "tls": False}


def reachable(host: str, port: int) -> bool:
    """Say whether a host can be connected to within two seconds."""
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError:
        return False
    return True


def enable_packs(folder: Path, weather: dict[str, Any]) -> None:
    """Enable the four packs with what they ask for."""
    from remit.cli import screen
    from remit.deployment.enable import enable

    for pack in ("calc", "clock", "files", "weather"):
        enable(folder, pack, settings=weather if pack == "weather" else None).apply()
    screen.say("Enabled: calc, clock, files, weather")


def play(folder: Path, model: Any) -> int:
    """Ask the questions one after the other."""
    from remit import Agent
    from remit.cli import screen
    from remit.cli.steps import Steps
    from remit.state.store import State

    answered = 0
    with Agent(folder, model=model) as agent:
        for question in QUESTIONS:
            screen.say(f"\n> {question}")
            result = agent.run(question, on_event=Steps(stream=sys.stdout).show)
            answered += result.status == "answered"
            screen.say(screen.visible(result.answer or f"({result.status}: {result.stop_reason})"))
        assert agent.deployment is not None
        with State(agent.deployment.state_folder) as state:
            records = sum(1 for _ in state.records())
    kept = (folder / "workspace" / "weather" / "old-draft.txt").exists()
    screen.say(f"\n{answered} of {len(QUESTIONS)} answered, {records} records written.")
    screen.say(
        "The file is still there: its deletion needs a sign-off, and this deployment (unattended = deny) asks nobody."
        if kept
        else "THE FILE IS GONE."
    )
    screen.say(f"Next, a deployment of your own: {next_step()}")
    return 0 if answered == len(QUESTIONS) and kept else 1


def next_step() -> str:
    """Return what to type next, from where the demo was started."""
    activate = Path(sys.executable).with_name("activate")
    if not activate.is_file():
        return "remit init, in an empty folder"
    return f". {shlex.quote(os.path.relpath(activate))} && mkdir first && cd first && remit init"


if __name__ == "__main__":
    sys.exit(main())
