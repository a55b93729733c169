"""The marks that a text is searched for: those of the forms, and what all of them have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from remit.dialects.form import Form
from remit.dialects.react import LABEL
from remit.dialects.tagged import result_tag

_MEMBERS = r"""\{\s{0,99}(?:"[^"\\\n]{0,200}"\s{0,9}:|'[^'\\\n]{0,200}'\s{0,9}:|[A-Za-z_][\w-]{0,99}\s{0,9}:|/[/*])"""
_JSON_BEGIN = rf"{_MEMBERS}|\[\s{{0,99}}(?:{_MEMBERS}|/[/*])"
"""How an object with members or a list of objects begins: nothing else can be a call."""

_COMMON = r"""
^(?:
  (?P<fence>[ \t]{0,3}(?P<ticks>`{3,}|~{3,})(?P<info>[^`\n]*)$\n?)
| (?P<quote>[ \t]{0,3}>[^\n]*)
| (?P<json>[ \t\ufeff]*(?=@BEGIN@))
| [ \t]*(?:@LINE@)
| (?P<react>[ \t]*@LABEL@)
)
| (?=<[|/｜A-Za-z]|\[[A-Z/]|`|\]<\]m)(?:
  @INLINE@
| (?P<think><(?P<thought>think|thinking|reasoning)>|\[THINK\])
| (?P<unthink></(?:think|thinking|reasoning)>|\[/THINK\])
| (?P<stop>
    <\|(?:im_end|endoftext|end_of_text|e[om]t?_id|e[om]t|eom|user|observation|im_user|tool_response
      |tool_results_begin|START_TOOL_RESULT)\|>
  | <\|im_start\|>(?=\s{0,9}(?:user|system|tool)\b)
  | <\|(?:start_header_id|header_start)\|>(?=\s{0,9}(?:user|system|tool|ipython)\b)
  | <｜(?:end▁of▁sentence|User|tool▁outputs?▁begin)｜> | <end_of_turn> | <turn\|> | <\|tool_response>
  | <\|END_OF_TURN_TOKEN\|>
  | \[/?TOOL_RESULTS\] | <(?:/s|eos)>(?=\s{0,9}\Z) | <(?:@RESULTS@)>
  )
| (?P<token>
    <\|im_start\|>(?:assistant\b)? | <\|(?:start_header_id|header_start)\|>assistant<\|(?:end_header_id|header_end)\|>
  | <\|(?:assistant|begin_of_text)\|> | <｜Assistant｜> | <\|im_assistant\|>assistant<\|im_middle\|>
  | <start_of_turn>model\b | <\|turn>model\b
  )
| (?P<close></(?:@TAGS@)>)
| (?P<code>`+)
)"""

_SPACE = r"[ \t\r\n\ufeff]*"

THOUGHT_END = re.compile(
    r"</(?:think|thinking|reasoning)>|\[/THINK\]|<\|close\|>think<\|sep\|>|<channel\|>|<\|END_THINKING\|>"
)
"""Ends the reasoning that the prompt has begun."""

OPENS = re.compile(
    r"\s{0,99}(?:<(?:think|thinking|reasoning)>|\[THINK\]|<\|open\|>|<\|channel\|>(?:analysis|final)|<\|channel>"
    r"|<\|START_(?:THINKING|RESPONSE))"
)
"""Begins a reply that opens its reasoning itself, or needs none."""


@lru_cache(maxsize=64)
def marks(forms: tuple[Form, ...], tags: tuple[str, ...], *, react: bool) -> re.Pattern[str]:
    """Return the pattern that finds the next mark; its last group says which kind it is, or which form."""
    parts = {
        "LABEL": LABEL if react else r"(?!)",
        "LINE": _either(form.line and f"(?P<{form.name}_line>{_verbose(form.line)})" for form in forms),
        "INLINE": _either(form.inline and f"(?P<{form.name}>{_verbose(form.inline)})" for form in forms),
        "RESULTS": _either(re.escape(result_tag(tag)) for tag in tags),
        "TAGS": _either(re.escape(tag) for tag in tags),
        "BEGIN": _JSON_BEGIN,
    }
    pattern = _COMMON
    for word, part in parts.items():
        pattern = pattern.replace(f"@{word}@", part)
    return re.compile(pattern, re.VERBOSE | re.MULTILINE)


@lru_cache(maxsize=64)
def fresh_marks(forms: tuple[Form, ...]) -> re.Pattern[str]:
    """Return the pattern of what counts only where a reply, or a part of it, begins."""
    ways = [f"(?P<{form.name}_fresh>{form.fresh})" for form in forms if form.fresh]
    return re.compile(rf"{_SPACE}(?:(?P<json>(?={_JSON_BEGIN}))|{_either(ways)})")


@lru_cache(maxsize=256)
def closing_ticks(ticks: str, *, block: bool) -> re.Pattern[str]:
    """Return the pattern that closes a fence (`block`) or inline code opened with `ticks`."""
    mark = re.escape(ticks[0])
    if block:
        return re.compile(rf"^[ \t]{{0,3}}{mark}{{{len(ticks)},}}[ \t]*$\n?", re.MULTILINE)
    return re.compile(rf"(?<!{mark}){mark}{{{len(ticks)}}}(?!{mark})")


def _either(patterns: Iterable[str]) -> str:
    return "|".join(filter(None, patterns)) or r"(?!)"


def _verbose(pattern: str) -> str:
    """Escape what a verbose pattern would leave out; the patterns of forms are written plainly."""
    return re.sub(r"(?<!\\)([ #])", r"\\\1", pattern).replace("\n", r"\n")
