"""The marks that a text is searched for: reasoning, quotes, ends of turn, wrappers, bare JSON."""

from __future__ import annotations

import re
from functools import lru_cache

_JSON_BEGIN = r"""\{\s{0,99}["'A-Za-z_/]|\[\s{0,99}[{/]"""
"""How an object with members or a list of objects begins: nothing else can be a call."""

_COMMON = r"""(?:
  (?P<think><(?P<thought>think|thinking|reasoning)>|\[THINK\])
| (?P<unthink></(?:think|thinking|reasoning)>|\[/THINK\])
| (?P<stop><\|(?:im_end|endoftext|end_of_text|eot_id|eom_id)\|>|<\|im_start\|>(?=\s{0,9}(?:user|system|tool)\b)
  |<(?:RESULTS)>)
| (?P<token><\|im_start\|>(?:assistant\b)?)
| (?P<open><\|?(?P<tag>TAGS)\|?>)
| (?P<close></(?:TAGS)>)
| (?P<fence>^[ \t]{0,3}(?P<ticks>`{3,}|~{3,})(?P<info>[^`\n]*)$\n?)
| (?P<code>`+)
| (?P<quote>^[ \t]{0,3}>[^\n]*)
| (?P<json>^[ \t\ufeff]*(?=BEGIN))
REACT)"""
_REACT = (
    r"| (?P<react>^[ \t]*(?:\*\*|\#+[ ])?(?P<label>Thought|Action\ Input|Action|Observation|Final\ Answer)"
    r"(?:\*\*)?[ \t]*:(?:\*\*)?)"
)

LABELS = ("Thought", "Action Input", "Action", "Observation", "Final Answer")
"""The labels of ReAct."""

ALSO_TAGS = ("tool_call", "function_call")
"""Tags that `auto` knows besides the one that was configured."""

JSON_HERE = re.compile(rf"(?P<json>[ \t\r\n\ufeff]*(?={_JSON_BEGIN}))")
"""JSON right where a reply or a part of it begins."""

TURN_END = re.compile(
    r"<\|(?:im_end|endoftext|end_of_text|eot_id|eom_id)\|>|<\|im_start\|>"
    r"|^[ \t]*(?:\*\*|#+ )?(?:Thought|Action Input|Action|Observation|Final Answer)(?:\*\*)?[ \t]*:",
    re.MULTILINE,
)
"""Where one part of a ReAct turn ends: at the next label or the end of the turn."""

ACTION_PAIR = re.compile(r"[^\n]*\n\s*(?:\*\*)?Action Input(?:\*\*)?[ \t]*:")
"""The rest of an `Action:` line that an `Action Input:` line follows."""

ACTION_INPUT = re.compile(r"\s*(?:\*\*)?Action Input(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*")

FENCE_OPEN = re.compile(r"\s*`{3,}[a-z_]*[ \t]*\n?")
FENCE_CLOSE = re.compile(r"\s*`{3,}")
EXTRA_CLOSERS = re.compile(r"\s*[}\]][}\]\s]*")


def result_tag(tag: str) -> str:
    """Return the tag that wraps a result where `tag` wraps a call."""
    return "tool_response" if tag == "tool_call" else f"{tag}_result"


@lru_cache(maxsize=64)
def marks(tags: tuple[str, ...], *, react: bool) -> re.Pattern[str]:
    """Return the pattern that finds the next mark; its last group says which kind it is."""
    names = "|".join(map(re.escape, tags)) if tags else r"(?!)"
    results = "|".join(re.escape(result_tag(tag)) for tag in tags) if tags else r"(?!)"
    pattern = (
        _COMMON.replace("TAGS", names)
        .replace("RESULTS", results)
        .replace("BEGIN", _JSON_BEGIN)
        .replace("REACT", _REACT if react else "")
    )
    return re.compile(pattern, re.VERBOSE | re.MULTILINE)


@lru_cache(maxsize=64)
def tag_edges(tags: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern that finds the next wrapper's beginning or end."""
    return re.compile("<(?P<end>/)?(?:" + "|".join(map(re.escape, tags)) + ")>")


@lru_cache(maxsize=64)
def tag_opening(tags: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a wrapper's beginning, with white space before it."""
    return re.compile(r"\s*<(?P<tag>" + "|".join(map(re.escape, tags)) + ")>")


@lru_cache(maxsize=256)
def closing_ticks(ticks: str, *, block: bool) -> re.Pattern[str]:
    """Return the pattern that closes a fence (`block`) or inline code opened with `ticks`."""
    mark = re.escape(ticks[0])
    if block:
        return re.compile(rf"^[ \t]{{0,3}}{mark}{{{len(ticks)},}}[ \t]*$\n?", re.MULTILINE)
    return re.compile(rf"(?<!{mark}){mark}{{{len(ticks)}}}(?!{mark})")
