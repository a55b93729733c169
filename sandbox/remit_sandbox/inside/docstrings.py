"""What a docstring says to a model: the prose, and one line for each argument.

Sections are cut out here, so that none of them (not even one that no parser knows, such as Note)
reaches a model; the ones about arguments are then read by `docstring_parser`.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

from remit_sandbox.inside.text import well_formed

_ARGUMENTS = {"args", "arguments", "parameters", "params", "other parameters", "keyword args", "keyword arguments"}
_OTHERS = {
    "attributes", "caution", "danger", "deprecated", "error", "example", "examples", "except", "exceptions", "hint",
    "important", "methods", "note", "notes", "raises", "raise", "receives", "references", "return", "returns",
    "see also", "todo", "tip", "usage", "warning", "warnings", "warns", "yield", "yields",
}  # fmt: skip
_TITLES = _ARGUMENTS | _OTHERS
_ONE_LINE = re.compile(r"(returns?|raises?|yields?)\s*:\s+\S", re.IGNORECASE)
_FIELD = re.compile(
    r"[:@](param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|except|exception|yields?|ytype"
    r"|var|ivar|cvar|vartype|meta|note|todo|warning|see|since|version|author|deprecated)\b[^:\n]*:",
)
_SPACED = re.compile(r"^(\s*\**\w+\s*\([^)\n]*\))\s+:", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Documentation:
    """The prose of a docstring, and what it says about arguments by their name."""

    prose: str = ""
    arguments: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Documentation:
    """Return what `text` says; Google, NumPy, Sphinx and Epytext style; never raises."""
    lines = inspect.cleandoc(well_formed(text or "")).splitlines()
    prose: list[str] = []
    arguments: dict[str, str] = {}
    index = 0
    while index < len(lines):
        for section in (_numpy, _google, _fields):
            end, found = section(lines, index)
            if end > index:
                arguments |= found
                index = end
                break
        else:
            prose.append(lines[index].rstrip())
            index += 1
    return Documentation(prose=_joined(prose), arguments=arguments)


Section = tuple[int, dict[str, str]]


def _google(lines: list[str], start: int) -> Section:
    """`Title:` alone on its line, and what is indented below it (or follows up to a blank line)."""
    line = lines[start].rstrip()
    if line.startswith(" ") or not (line.endswith(":") and line[:-1].strip().lower() in _TITLES):
        return (_paragraph(lines, start), {}) if _ONE_LINE.match(line) else (start, {})
    body = start + 1
    while body < len(lines) and not lines[body].strip():
        body += 1
    end = _indented(lines, body) if body < len(lines) and _is_indented(lines[body]) else _paragraph(lines, start + 1)
    if line[:-1].strip().lower() not in _ARGUMENTS:
        return end, {}
    block = "\n".join(_level([text for text in lines[start + 1 : end] if text.strip()]))
    return end, _parsed("Summary.\n\nArgs:\n" + _SPACED.sub(r"\1:", block), "GOOGLE")


def _numpy(lines: list[str], start: int) -> Section:
    """`Title` underlined; it reaches to the next underlined title."""
    if not _underlined(lines, start):
        return start, {}
    end = start + 2
    while end < len(lines) and not _underlined(lines, end):
        end += 1
    if lines[start].strip().lower() not in _ARGUMENTS:
        return end, {}
    return end, _parsed("Summary.\n\nParameters\n----------\n" + "\n".join(lines[start + 2 : end]), "NUMPYDOC")


def _fields(lines: list[str], start: int) -> Section:
    """A run of `:param x:` or `@param x:` fields with their continuation lines."""
    if not _FIELD.match(lines[start].lstrip()):
        return start, {}
    end = start + 1
    while end < len(lines) and (_FIELD.match(lines[end].lstrip()) or _continues(lines, end)):
        end += 1
    style = "EPYDOC" if lines[start].lstrip().startswith("@") else "REST"
    return end, _parsed("Summary.\n\n" + "\n".join(line.strip() for line in lines[start:end]), style)


def _continues(lines: list[str], index: int) -> bool:
    if lines[index].strip():
        return lines[index].startswith(" ") or bool(lines[index - 1].strip())
    return any(_FIELD.match(line.lstrip()) for line in lines[index : index + 2])


def _underlined(lines: list[str], index: int) -> bool:
    known = index + 1 < len(lines) and lines[index].strip().rstrip(":").lower() in _TITLES
    return known and bool(re.fullmatch(r"\s*[-=~]{3,}\s*", lines[index + 1]))


def _is_indented(line: str) -> bool:
    return line[:1] in (" ", "\t")


def _indented(lines: list[str], start: int) -> int:
    end = start
    while end < len(lines) and (not lines[end].strip() or _is_indented(lines[end])):
        end += 1
    return end


def _paragraph(lines: list[str], start: int) -> int:
    end = start
    while end < len(lines) and lines[end].strip():
        end += 1
    return max(end, start)


def _level(lines: list[str]) -> list[str]:
    """Return `lines` with the first at an indent of four, deeper ones deeper."""
    first = lines[0] if lines else ""
    indent = len(first) - len(first.lstrip())
    return ["    " + (line[indent:] if not line[:indent].strip() else line.lstrip()) for line in lines]


def _parsed(text: str, style: str) -> dict[str, str]:
    from docstring_parser import DocstringStyle, parse

    try:
        found = parse(text, style=DocstringStyle[style])
    except Exception:
        return {}
    arguments: dict[str, str] = {}
    for item in found.params:
        for name in item.arg_name.split(","):
            arguments[name.strip().lstrip("*")] = " ".join((item.description or "").split())
    return arguments


def _joined(lines: list[str]) -> str:
    """Return the paragraphs of `lines`, one blank line between them."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
