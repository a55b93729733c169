"""`remit prompt`: exactly what a model is told before anybody has said a word, and what that takes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json, add_no_extensions, add_read_only, opened, read_only
from remit.skills import FIND_SKILLS, READ_RESULT

if TYPE_CHECKING:
    from remit.loop.preview import Preview
    from remit.memory.message import Opening

HOW_TO_CALL = "calls"
"""Name under which is shown how a model writes calls in text; it follows from the dialect and the skills."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its action."""
    parser.epilog = "example:\n  remit prompt show\n"
    actions = parser.add_subparsers(dest="what", metavar="action", required=True)
    shown = add_action(
        actions,
        "show",
        "print the fragments of the system prompt, where each comes from, the skills as they are rendered, and tokens",
        """
        remit prompt show
        remit prompt show --agent researcher
        remit prompt show --dialect react
        remit prompt show --question "Where is my parcel?"
        remit prompt show --json
        """,
    )
    shown.add_argument("--dialect", help="how the model writes calls: native, auto, tagged, react, ...")
    shown.add_argument("--agent", default="", help="of an agent of [agents], as it is asked")
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
        model = ScriptedModel([], name=deployment.config.model.name or "scripted")
        dialect = checked_dialect(options.dialect)
        with Agent(deployment, model=model, dialect=dialect, read_only=read_only(options)) as agent:
            body = described(agent.preview(options.question, agent=options.agent))
    if options.json:
        screen.say_json(body)
    else:
        for line in _lines(body):
            screen.say(screen.visible(line))
    return 0


def described(found: Preview) -> dict[str, Any]:
    """Return what a model gets, as plain JSON: fragments, messages and tools, what they take, and what it must find."""
    request = found.request
    return {
        "agent": found.agent,
        "dialect": found.dialect,
        "fragments": [*_fragments(found)],
        "memory": None if found.memory is None else _memory(found.memory),
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": tool.strict}
            for tool in request.tools
        ],
        "not_offered": len(found.skills.keys() - {*found.offered, READ_RESULT}),
        "budget": {
            "parts": [asdict(part) for part in found.parts],
            "context": found.context,
            "left": found.left,
            "counted_by": found.counted_by,
        },
    }


def _fragments(found: Preview) -> Iterator[dict[str, str]]:
    from remit.loop.preview import instructions_in

    for fragment in found.prompt:
        yield {"name": fragment.name, "source": fragment.source, "text": fragment.text}
    if told := instructions_in(found.request.messages[0].content, found.prompt):
        yield {"name": HOW_TO_CALL, "source": f"dialect {found.dialect}", "text": told}


def _memory(told: Opening) -> dict[str, Any]:
    return {"text": told.message.content, "facts": told.facts, "left_out": told.left_out}


def _lines(body: dict[str, Any]) -> Iterator[str]:
    for fragment in body["fragments"]:
        yield f"[{fragment['name']}] ({fragment['source']})"
        yield from fragment["text"].splitlines()
        yield ""
    examples = [message for message in body["messages"][1:] if not _is_memory(message, body["memory"])]
    if examples:
        yield f"Examples ({len(examples)} messages):"
        for message in examples:
            yield f"{message['role']}:"
            yield from (f"  {line}" for line in message["content"].splitlines())
        yield ""
    if body["memory"] is not None:
        yield f"Memory (facts: {body['memory']['facts']}), at the beginning of a new session:"
        yield from (f"  {line}" for line in body["memory"]["text"].splitlines())
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
    yield ""
    yield from _budget(body["budget"])


def _is_memory(message: dict[str, str], memory: dict[str, Any] | None) -> bool:
    return memory is not None and message["content"] == memory["text"]


def _budget(budget: dict[str, Any]) -> Iterator[str]:
    rows = [(part["name"], str(part["tokens"]), str(part["most"] or "")) for part in budget["parts"]]
    rows.append(("all of it", str(sum(part["tokens"] for part in budget["parts"])), str(budget["context"] or "")))
    yield from screen.table(("part", "tokens", "at most"), rows).splitlines()
    left = "nobody knows how many" if budget["left"] is None else f"{budget['left']}"
    yield f"tokens left for the conversation: {left} (counted by: {budget['counted_by']})"
