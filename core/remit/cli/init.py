"""`remit init`: a new deployment."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import add_folder, add_json, agreed, typed, warn_problems

if TYPE_CHECKING:
    from remit.deployment.config import ModelConfig
    from remit.models.nearby import Endpoint
    from remit_sandbox.values import Enforcement


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit init                       ask for workspace, endpoint and packs
  remit init --yes                 take the defaults: ./workspace, no pack
  remit init --yes --packs calc files --model qwen3 --base-url http://127.0.0.1:11434/v1
"""
    parser.add_argument("--yes", action="store_true", help="take the defaults, ask nothing")
    parser.add_argument("--workspace", help="folder that packs may be given (default: workspace)")
    parser.add_argument("--packs", nargs="+", metavar="PACK", help="packs to enable with what they ask for")
    parser.add_argument("--model", help="name of the model")
    parser.add_argument("--base-url", help="any OpenAI-compatible endpoint")
    parser.add_argument("--api-key", metavar="REF", help="where the key is kept: env:NAME, file:PATH or keyring:...")
    parser.add_argument("--enforcement", choices=["kernel", "available"], help="see `remit doctor`")
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(action=init)


def init(options: argparse.Namespace) -> int:
    """Ask what is missing, show what will be made, make it."""
    from remit.deployment.init import init as propose

    asking = not options.yes and not options.json and sys.stdin.isatty()
    workspace = options.workspace or (_ask("workspace", "workspace") if asking else "workspace")
    model = _model(options, asking=asking)
    packs = _installed(" ".join(options.packs)) if options.packs is not None else (_ask_packs() if asking else [])
    proposal = propose(
        options.folder,
        workspace=workspace,
        model=model,
        packs=packs,
        enforcement=options.enforcement or _enforcement(asking=asking, quiet=options.json),
    )
    for line in () if options.json else proposal.lines:
        screen.say(screen.visible(line))
    if asking and not agreed("Make this?", yes=False):
        screen.warn("nothing was made")
        return 1
    started = proposal.apply()
    if options.json:
        problems = [vars(problem) for problem in started.problems]
        screen.say_json({"made": str(started.path), "enabled": list(started.enabled), "problems": problems})
        return 1 if started.problems else 0
    screen.say(f"made {started.path}")
    for name in started.enabled:
        screen.say(f"enabled {name}")
    warn_problems(started.problems)
    screen.say("next: remit packs list; remit packs enable NAME")
    return 1 if started.problems else 0


def _model(options: argparse.Namespace, *, asking: bool) -> ModelConfig | None:
    from remit.deployment.config import ModelConfig

    if options.model or options.base_url:
        return _config(options.model or "", options.base_url or "", options.api_key)
    if not asking:
        return None
    found = _choose()
    if found is None:
        return None
    return ModelConfig(name=_ask("model", found.model), base_url=found.base_url, api_key=found.api_key)


def _config(name: str, base_url: str, api_key: str | None) -> ModelConfig:
    from pydantic import ValidationError

    from remit.deployment.config import ModelConfig
    from remit.errors import UsageError

    given = {"name": name, "base_url": base_url, "api_key": api_key}
    try:
        return ModelConfig(**{key: value for key, value in given.items() if value})  # type: ignore[arg-type]
    except ValidationError as error:
        raise UsageError(f"--api-key: {error.errors()[0]['msg']}") from None


def _choose() -> Endpoint | None:
    """Offer the endpoints that there are, and one that the person types."""
    from remit.models.nearby import Endpoint, endpoints

    screen.say("looking for models ...")
    found = list(endpoints())
    for number, endpoint in enumerate(found, start=1):
        screen.say(f"  {number}. {endpoint.server}: {endpoint.base_url} {endpoint.model}".rstrip())
    while chosen := _ask("endpoint (a number, a URL, or none)", "1" if found else "none"):
        if chosen == "none":
            break
        if chosen.isdigit() and 1 <= int(chosen) <= len(found):
            return found[int(chosen) - 1]
        if chosen.isdigit():
            screen.warn(f"there is no number {chosen} in the list")
        elif _is_url(chosen):
            return Endpoint(server="", base_url=chosen)
    return None


def _is_url(text: str) -> bool:
    from remit.errors import DeploymentError
    from remit.models.urls import chat_url

    try:
        chat_url(text)
    except DeploymentError as error:
        screen.error(error.message, error.remedy)
        return False
    return True


def _ask_packs() -> list[str]:
    from remit.errors import UnknownPack
    from remit.packs.discovery import discover

    installed = ", ".join(discover().packs) or "none"
    while True:
        try:
            return _installed(_ask(f"packs to enable (installed: {installed})", ""))
        except UnknownPack as error:
            screen.error(error.message)


def _installed(packs: str) -> list[str]:
    """Return the names in a list with commas or spaces.

    Raises:
        UnknownPack: one of them is not installed. One that is broken passes: enabling says why it is left out.
    """
    names = packs.replace(",", " ").split()
    if names:
        from remit.errors import PackError, UnknownPack
        from remit.packs.discovery import discover

        inventory = discover()
        for name in names:
            try:
                inventory.get(name)
            except UnknownPack:
                raise
            except PackError:
                continue
    return names


def _enforcement(*, asking: bool, quiet: bool) -> Enforcement:
    """Return `kernel`; where the machine cannot confine, say so and let a person choose.

    `quiet` leaves standard output to something else.
    """
    from remit_sandbox.probe import probe

    missing = probe().missing
    if not missing:
        return "kernel"
    say = screen.warn if quiet else screen.say
    say("This machine cannot confine skills:")
    for reason in missing:
        say(f"  {reason}")
    say('enforcement = "available" runs them all the same, in processes of their own, without these limits.')
    if asking and agreed("Use it?", yes=False):
        return "available"
    say('Keeping enforcement = "kernel": skills of packs are refused here until you change it in remit.toml.')
    return "kernel"


def _ask(what: str, default: str) -> str:
    try:
        answer = typed(f"{what} [{default}]: " if default else f"{what}: ").strip()
    except EOFError:
        answer = ""
    return answer or default
