"""`remit prompt`: exactly what the model is told before anybody has said a word."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json, add_no_extensions, add_read_only, opened, read_only
from remit.skills import FIND_SKILLS, READ_RESULT

if TYPE_CHECKING:
    from remit.agent import Agent
    from remit.models.protocol import ModelRequest

HOW_TO_CALL = "calls"
"""Name under which is shown how a model writes calls in text; it follows from the dialect and the skills."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its action."""
    parser.epilog = "example:\n  remit prompt show\n"
    actions = parser.add_subparsers(dest="what", metavar="action", required=True)
    shown = add_action(
        actions,
        "show",
        "print the fragments of the system prompt, where each comes from, and the skills as they are rendered",
        """
        remit prompt show
        remit prompt show --dialect react
        remit prompt show --question "Where is my parcel?"
        remit prompt show --json
        """,
    )
    shown.add_argument("--dialect", help="how the model writes calls: native, auto, tagged, react, ...")
    shown.add_argument("--question", default="", help="with the skills that it finds, where there are many")
    add_folder(shown)
    add_json(shown)
    add_read_only(shown)
    add_no_extensions(shown)
    shown.set_defaults(action=show)


def show(options: argparse.Namespace) -> int:
    """Print what the model gets; nothing is sent anywhere, and no key is needed."""
    from remit.agent import Agent
    from remit.cli.parsing import checked_dialect
    from remit.models.scripted import ScriptedModel

    with opened(options, quiet=options.json) as deployment:
        dialect = checked_dialect(options.dialect) or deployment.config.model.dialect
        with Agent(deployment, model=ScriptedModel([]), dialect=dialect, read_only=read_only(options)) as agent:
            body = described(agent, dialect, options.question)
    if options.json:
        screen.say_json(body)
    else:
        for line in _lines(body):
            screen.say(screen.visible(line))
    return 0


def described(agent: Agent, dialect: str, question: str = "") -> dict[str, Any]:
    """Return what an agent's model gets, as plain JSON: fragments, messages and tools, and how many it must find."""
    request, offered = agent.shown(question), agent.offered(question)
    return {
        "dialect": dialect,
        "fragments": [*_fragments(agent, request, dialect)],
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": tool.strict}
            for tool in request.tools
        ],
        "not_offered": len(agent.skills.keys() - {*offered, READ_RESULT}),
    }


def _fragments(agent: Agent, request: ModelRequest, dialect: str) -> Iterator[dict[str, str]]:
    from remit.loop.prompt import joined

    for fragment in agent.prompt:
        yield {"name": fragment.name, "source": fragment.source, "text": fragment.text}
    told = request.messages[0].content.removeprefix(joined(agent.prompt)).strip()
    if told:
        yield {"name": HOW_TO_CALL, "source": f"dialect {dialect}", "text": told}


def _lines(body: dict[str, Any]) -> Iterator[str]:
    for fragment in body["fragments"]:
        yield f"[{fragment['name']}] ({fragment['source']})"
        yield from fragment["text"].splitlines()
        yield ""
    examples = body["messages"][1:]
    if examples:
        yield f"Examples ({len(examples)} messages):"
        for message in examples:
            yield f"{message['role']}:"
            yield from (f"  {line}" for line in message["content"].splitlines())
        yield ""
    if body["tools"]:
        yield f"Skills ({len(body['tools'])}), as native tools:"
    for tool in body["tools"]:
        yield f"{tool['name']}{' (strict)' if tool['strict'] else ''}: {tool['description']}"
        yield f"  {json.dumps(tool['parameters'], ensure_ascii=False)}"
    if body["not_offered"]:
        yield ""
        yield (
            f"{body['not_offered']} more skills are not offered at once: those that the words of a question find are "
            f"(--question shows them), and those that {FIND_SKILLS} finds"
        )
