"""What a person is shown when they are asked: plain text, rendered here and by nobody else."""

from __future__ import annotations

from remit.pipeline.render import visible, visible_arguments
from remit.pipeline.rows import hanging, rows
from remit.skills import ENABLE_SKILLS
from remit_sandbox.signoff import SignoffRequest

HEADING = "--- sign-off needed: "


def question(request: SignoffRequest, *, columns: int = 0, session_key: str = "[s]") -> str:
    """Return what a person is shown for `request`: plain text, every argument whole.

    Args:
        request: what is asked.
        columns: of the terminal, where each line ends before the terminal would break it: prose between words,
            values wherever it must be. What goes on with a line has a mark before it. 0 breaks nothing.
        session_key: what a person types to allow it for the session; empty where that cannot be answered.
    """
    action = request.action
    impact = f", {', '.join(request.impact)}" if request.impact else ""
    people = f"{request.approvers} must approve, none of them {visible(action.principal)}"
    scope = session_key if for_session(request) else ""
    reach = [f"{k}: {visible(entry)}" for k, v in request.reach.items() for entry in v]
    lines = [
        "",
        *hanging(f"{visible(action.skill)} {visible(action.version)}".rstrip(), columns, start=HEADING, apart=True),
        *rows("effect", [f"{request.effect}{impact}"], columns),
        *rows("asked by", [request.asked_by + (f", step {request.step}" if request.step else "")], columns),
        *(rows("agents", [visible(" <- ".join(request.agents))], columns) if request.agents else []),
        *rows("because", [f"{visible(request.source)}: {visible(request.reason)}"], columns, words=True),
        *(rows("people", [people], columns, words=True) if request.approvers > 1 else []),
        *rows("may reach", reach, columns),
        *rows("resolved", [f"{visible(k)} -> {visible(v)}" for k, v in action.resolved.items()], columns),
        *rows("arguments", visible_arguments(action.arguments, frozenset(request.secret)), columns),
        *_origins(request, columns),
        *_files(request, columns),
        *(rows("session", [_session_scope(request, scope)], columns, words=True) if scope else []),
        *(rows("note", [visible(request.remark)], columns, words=True) if request.remark else []),
        "",
    ]
    return "\n".join(lines)


def for_session(request: SignoffRequest) -> bool:
    """Tell whether it may be allowed for the session: no edit, not what a session has at all, nothing asked each time.

    Asked about each time is what has an impact, needs a channel apart, or needs two people.
    """
    each_time = request.verdict != "ask" or request.approvers > 1 or request.impact
    return not each_time and not request.edits and request.action.skill != ENABLE_SKILLS


def _origins(request: SignoffRequest, columns: int) -> list[str]:
    """Return where each value came from, where that is known."""
    came = [f"{visible(name)} from {visible(origin)}" for name, origin in request.origins.items()]
    return rows("came", came, columns) if came else []


def _files(request: SignoffRequest, columns: int) -> list[str]:
    """Return what the files that arguments name hold now, and what would become of them."""
    held = [f"{visible(name)}: {visible(what)}" for name, what in request.action.contents.items()]
    found = rows("there now", held, columns) if held else []
    for name, lines in changed_files(request).items():
        found += rows("change", [f"{name}: {lines[0]}", *lines[1:]], columns)
    return found


def changed_files(request: SignoffRequest) -> dict[str, tuple[str, ...]]:
    """Return argument to what would become of the file that it names, every character visible."""
    return {visible(name): tuple(visible(line) for line in lines) for name, lines in request.changes.items() if lines}


def _session_scope(request: SignoffRequest, key: str) -> str:
    """Return what the answer `s` would cover, so that nobody has to guess."""
    fixed = ", ".join(map(visible, request.targets))
    what = f"the same {fixed}, whatever the other arguments" if fixed else "exactly these arguments"
    return f"{key} allows {visible(request.action.skill)} again in this session with {what}"
