"""Keeping checkpoints where whoever can change the log cannot change them: a file, a git ref, a command."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from remit.errors import EvidenceError, UsageError
from remit.evidence.notes import Checkpoint, parse_checkpoint
from remit.state_folder import replace_file

_SECONDS = 120.0
_NAME = "checkpoint"
_LARGEST = 64 * 1024


def put_anchor(target: str, checkpoint: Checkpoint, *, folder: Path) -> str:
    """Keep a checkpoint and return where it is, in words.

    Args:
        target: a file; `git:REF` in the repository of `folder`; `command:...`, which gets it as its input.
        checkpoint: what to keep.
        folder: for names of files, and where the command runs.

    Raises:
        UsageError: the target is none.
        EvidenceError: it could not be kept.
    """
    kind, _, where = target.partition(":")
    if kind == "git":
        return _into_git(_ref(where), checkpoint, folder)
    if kind == "command":
        return _to_command(where, checkpoint, folder)
    path = folder / Path(target).expanduser()
    try:
        replace_file(path, checkpoint.note.encode())
    except OSError as error:
        raise EvidenceError(f"{path} cannot be written: {error.strerror or error}") from None
    return f"file {path}"


def get_anchor(source: str, *, folder: Path) -> Checkpoint:
    """Return the checkpoint kept in a file or under `git:REF`.

    Raises:
        UsageError: the source is none.
        EvidenceError: it cannot be read, or is no checkpoint.
    """
    kind, _, where = source.partition(":")
    if kind == "git":
        return parse_checkpoint(_git(folder, "cat-file", "blob", f"{_ref(where)}:{_NAME}"))
    path = folder / Path(source).expanduser()
    try:
        with path.open("rb") as file:
            return parse_checkpoint(file.read(_LARGEST).decode())
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise EvidenceError(f"the anchor {path} cannot be read: {why}") from None


def _into_git(ref: str, checkpoint: Checkpoint, folder: Path) -> str:
    """Add a commit to `ref` that holds the checkpoint alone; the working tree is not touched."""
    blob = _git(folder, "hash-object", "-w", "--stdin", given=checkpoint.note).strip()
    tree = _git(folder, "mktree", given=f"100644 blob {blob}\t{_NAME}\n").strip()
    before = _git(folder, "for-each-ref", "--format=%(objectname)", ref).strip()
    message = f"{checkpoint.origin} at {checkpoint.size} records"
    parents = ("-p", before) if before else ()
    commit = _git(folder, "commit-tree", tree, *parents, "-m", message).strip()
    _git(folder, "update-ref", ref, commit, before or "0" * len(commit))
    return f"{ref} in git, commit {commit[:12]}"


def _to_command(line: str, checkpoint: Checkpoint, folder: Path) -> str:
    words = shlex.split(line)
    if not words:
        raise UsageError("command: names no program", remedy='--to "command:PROGRAM ARGUMENT ..."')
    done = _run(words, folder, checkpoint.note)
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2][:200]
        raise EvidenceError(f"{words[0]} refused the checkpoint (exit code {done.returncode}): {last}")
    return f"given to {words[0]}"


def _ref(name: str) -> str:
    if not name or name.startswith("-") or any(letter in name for letter in " ~^:?*[\\"):
        raise UsageError(f"git:{name} names no ref", remedy="--to git:refs/remit/log")
    return name if name.startswith("refs/") else f"refs/heads/{name}"


def _git(folder: Path, *arguments: str, given: str = "") -> str:
    done = _run(["git", *arguments], folder, given)
    if done.returncode:
        raise EvidenceError(f"git {arguments[0]} failed: {done.stderr.strip()[:300]}")
    return done.stdout


def _run(words: list[str], folder: Path, given: str) -> subprocess.CompletedProcess[str]:
    names = {"GIT_AUTHOR_NAME": "remit", "GIT_COMMITTER_NAME": "remit"}
    mails = {"GIT_AUTHOR_EMAIL": "remit@localhost", "GIT_COMMITTER_EMAIL": "remit@localhost"}
    try:
        return subprocess.run(
            words,
            cwd=folder,
            input=given,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
            env={**names, **mails, **os.environ},
        )
    except FileNotFoundError:
        raise EvidenceError(f"there is no program {words[0]}") from None
    except subprocess.TimeoutExpired:
        raise EvidenceError(f"{words[0]} did not end within {_SECONDS:g} seconds") from None
