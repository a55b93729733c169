"""What a call would make of a file, as lines of a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from remit.argument_paths import Below, Place, declared, schema_at, written
from remit.pipeline.present import may_write, text_of
from remit.skills import Skill

LARGEST = 256 * 1024
"""Characters of either text that are compared."""

_MOST_COMPARED = 300
"""Lines between the first and the last difference that are compared one by one: that takes quadratic time."""

_AROUND = 3

Code = tuple[str, int, int, int, int]


def file_changes(
    skill: Skill, arguments: Mapping[str, Any], resolved: Mapping[str, str], held: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Return argument to what would become of the file that it names, empty where that cannot be told.

    A call writes a file, as far as its manifest tells, when its skill has an effect, exactly one target is a path
    that it may write, and exactly one other argument is free text; of an object inside an argument that holds a path
    and a text the same is assumed. What its code then does with the text nobody can promise: the first line says
    what is assumed.

    Args:
        skill: what would be called.
        arguments: of the call.
        resolved: argument to real path or host, from `remit.pipeline.resources.resolved`.
        held: argument to what its file holds, from `remit.pipeline.present.contents`: nothing else is compared, so
            that a person sees the change of what an approval binds.
    """
    if skill.effect == "read":
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for name, text, then in _pairs(skill, arguments):
        place = resolved.get(name)
        if place is not None and may_write(skill, place):
            found[name] = tuple(_compared(skill, place, text, then, held=held.get(name)))
    return found


def _pairs(skill: Skill, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield a path, the free text beside it, and what that says, where either is the only one of its object."""
    targets = list(declared(arguments, skill.targets))
    taken = {target.place for target in targets}
    paths = [target.place for target in targets if target.kind == "path" and _is_field(target.place)]
    for holder in dict.fromkeys(place[:-1] for place in paths):
        own = {place for place in paths if place[:-1] == holder}
        texts = [place for place in _free_texts(skill, arguments, holder) if place not in taken]
        if len(own) == 1 and len(texts) == 1:
            yield written(own.pop()), written(texts[0]), str(_at(arguments, texts[0]))


def _is_field(place: Place) -> bool:
    return isinstance(place[-1], str) and not isinstance(place[-1], Below)


def _free_texts(skill: Skill, arguments: Mapping[str, Any], holder: Place) -> Iterator[Place]:
    """Yield the fields of an object that are free text, whose values may be shown."""
    for name, value in _at(arguments, holder).items():
        place = (*holder, name)
        schema = schema_at(skill.schema, _way(place)) or {}
        secret = place[0] in skill.secret_arguments
        if isinstance(value, str) and not secret and not {"enum", "const", "format", "pattern"} & set(schema):
            yield place


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def _way(place: Place) -> str:
    """Return the way on which a field stands."""
    return "".join(f".{step}" if _is_field((step,)) else "[]" for step in place).removeprefix(".")


def _compared(skill: Skill, place: str, name: str, then: str, *, held: str | None) -> Iterator[str]:
    try:
        now = text_of(skill, place, LARGEST, held=held)
    except UnicodeDecodeError:
        yield f"what is there is no text; it would become {name}, {len(then)} characters"
        return
    except OSError as error:
        yield f"what is there cannot be compared ({(error.strerror or 'unreadable').removeprefix('it ')})"
        return
    if len(then) > LARGEST:
        yield f"{name} has {len(then)} characters, too many to be compared"
        return
    if now is None:
        yield f"a new file, if it is made of {name}"
        yield from _marked("+", _lines(then))
    elif now == then:
        yield f"nothing changes, if {name} takes the place of what is there"
    else:
        yield f"if {name} takes the place of what is there"
        yield from unified(now, then)


def unified(now: str, then: str) -> Iterator[str]:
    """Return the difference of two texts in the unified form, without the two lines that name files.

    What they begin and end with alike is found in linear time; what is between is compared line by line where it
    is short, and else shown as taken out and put in whole, which is as true.
    """
    old, new = _lines(now), _lines(then)
    first, last = _alike(old, new)
    top, end = max(0, first - _AROUND), max(0, last - _AROUND)
    left, right = old[top : len(old) - end], new[top : len(new) - end]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    if max(len(left), len(right)) > _MOST_COMPARED:
        groups = [_taken_out(first - top, last - end, len(left), len(right))]
    else:
        groups = list(matcher.get_grouped_opcodes(_AROUND))
    for group in groups:
        yield from _hunk(group, left, right, top)


def _taken_out(before: int, after: int, old: int, new: int) -> list[Code]:
    """Return how one text becomes the other when all that is between what they share is another."""
    return [
        ("equal", 0, before, 0, before),
        ("replace", before, old - after, before, new - after),
        ("equal", old - after, old, new - after, new),
    ]


def _hunk(group: Sequence[Code], left: Sequence[str], right: Sequence[str], top: int) -> Iterator[str]:
    _, old, _, new, _ = group[0]
    _, _, old_end, _, new_end = group[-1]
    yield f"@@ -{_range(top + old, old_end - old)} +{_range(top + new, new_end - new)} @@"
    for kind, a, b, c, d in group:
        if kind == "equal":
            yield from _marked(" ", left[a:b])
        else:
            yield from _marked("-", left[a:b])
            yield from _marked("+", right[c:d])


def _range(start: int, size: int) -> str:
    return f"{start + 1 if size else start},{size}"


def _marked(mark: str, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ no line end"


def _alike(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines two texts begin with alike, and how many of the others they end with alike."""
    most = min(len(old), len(new))
    first = next((number for number in range(most) if old[number] != new[number]), most)
    most -= first
    last = next((number for number in range(most) if old[-1 - number] != new[-1 - number]), most)
    return first, last


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends; only a line feed ends one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]
