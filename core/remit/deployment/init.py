"""Makes a new deployment: a commented `remit.toml`, a workspace, and the acceptance of both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.deployment.acceptance import accept
from remit.deployment.anchors import workspace_of
from remit.deployment.config import ModelConfig
from remit.deployment.enable import enable
from remit.deployment.files import read_files, real_folder
from remit.deployment.load import load_config, parse_config
from remit.deployment.source import CONFIG_NAME, LOCK_NAME
from remit.errors import DeploymentError, RemitError
from remit.packs.installed import PackProblem
from remit.state_folder import open_state
from remit_sandbox.values import Enforcement

_TEMPLATE = """\
# What this deployment's agent may use, and how far each pack may reach.
# After an edit, run `remit apply`.
policy = 1
workspace = {workspace}  # what ${{workspace}} stands for; never a folder that holds remit.toml

[model]
# Any OpenAI-compatible endpoint. A key is a reference (env:, file:, keyring:), never a value.
{model}

[defaults]
# The verdict where no rule says otherwise: allow, ask, ask-apart (another channel), deny.
read = "allow"
write = "ask"
external = "ask"
unattended = {unattended}  # nobody there to ask: park (wait for a person) or deny
enforcement = {enforcement}  # kernel: refuse what cannot be confined; available: run, and say what is not enforced

# Packs are enabled with `remit packs enable NAME`, which shows what they may do first.
# A rule that is not "allow" never makes a call laxer:
# [[rule]]
# id = "no-deleting"
# verdict = "deny"
# match = {{ skill = "files.delete_file" }}
# reason = "Nothing is deleted here"
"""
_ATTRIBUTES = f"""\
# One fact a line: git may keep both sides. What they say differently does not load, and remit says so.
{LOCK_NAME} merge=union
"""
_EXAMPLES = {"name": "gpt-5-mini", "base_url": "https://api.example.com/v1", "api_key": "env:OPENAI_API_KEY"}


@dataclass(frozen=True, kw_only=True)
class Started:
    """What `InitProposal.apply` did.

    Attributes:
        path: the new `remit.toml`.
        enabled: packs that were enabled.
        problems: packs that could not be.
    """

    path: Path
    enabled: tuple[str, ...] = ()
    problems: tuple[PackProblem, ...] = ()


@dataclass(frozen=True, kw_only=True)
class InitProposal:
    """A new deployment, ready to be read and made.

    Attributes:
        folder: absolute real path.
        text: the `remit.toml`.
        workspace: absolute path of the workspace.
        packs: packs to enable with what they ask for.
        lines: what will be made, in plain words.
    """

    folder: Path
    text: str
    workspace: Path
    packs: tuple[str, ...]
    lines: tuple[str, ...]

    def apply(self, *, paths: Sequence[str] | None = None) -> Started:
        """Write the file, make the workspace, accept, and enable the packs one by one.

        Raises:
            DeploymentError: there is a `remit.toml` already, or nothing can be written.
        """
        path = self.folder / CONFIG_NAME
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(self.text)
            self.workspace.mkdir(parents=True, exist_ok=True)
            _let_git_merge(self.folder / ".gitattributes")
        except FileExistsError as error:
            raise _there_already(path) from error
        except OSError as error:
            raise DeploymentError(f"{path} cannot be written: {error.strerror or error}") from error
        accept(read_files(self.folder), open_state(self.folder))
        return self._enable(path, paths)

    def _enable(self, path: Path, paths: Sequence[str] | None) -> Started:
        enabled: list[str] = []
        problems: list[PackProblem] = []
        for name in self.packs:
            try:
                enable(self.folder, name, paths=paths).apply()
                enabled.append(name)
            except RemitError as error:
                problems.append(PackProblem(pack=name, distribution="", reason=error.message, remedy=error.remedy))
        return Started(path=path, enabled=tuple(enabled), problems=tuple(problems))


def init(
    folder: str | Path = ".",
    *,
    workspace: str = "workspace",
    model: ModelConfig | None = None,
    packs: Sequence[str] = (),
    unattended: str = "park",
    enforcement: Enforcement = "kernel",
) -> InitProposal:
    """Propose a new deployment in `folder`.

    Args:
        folder: an existing folder without a `remit.toml`.
        workspace: folder for `${workspace}`, relative to `folder`.
        model: the endpoint; None writes an example as a comment.
        packs: packs to enable with what they ask for.
        unattended: `park` or `deny`.
        enforcement: `available` where the machine cannot confine (see `remit doctor`).

    Raises:
        DeploymentError: there is one already, or the workspace would hold a `remit.toml`.
    """
    real = real_folder(folder)
    path = real / CONFIG_NAME
    if path.exists():
        raise _there_already(path)
    place = workspace_of(real, workspace)
    if place.is_relative_to(real) and place == real:
        raise DeploymentError("the workspace must be a folder of its own, such as workspace")
    text = _TEMPLATE.format(
        workspace=_toml(workspace),
        model="\n".join(_model_lines(model)),
        unattended=_toml(unattended),
        enforcement=_toml(enforcement),
    )
    parse_config(text, path)
    lines = (
        f"{path}: model, defaults, and the packs that you enable",
        f"{place}: the folder that packs may be given",
        *(f"pack {name}: enabled with what it asks for" for name in packs),
    )
    return InitProposal(folder=real, text=text, workspace=place, packs=tuple(packs), lines=lines)


def _let_git_merge(path: Path) -> None:
    """Let git put the facts of two branches side by side in the lock; a file that is there already stays."""
    if not path.exists():
        path.write_text(_ATTRIBUTES, encoding="utf-8", newline="\n")


def _model_lines(model: ModelConfig | None) -> list[str]:
    if model is None:
        return [f"# {key} = {_toml(value)}" for key, value in _EXAMPLES.items()]
    written = model.model_dump(exclude_unset=True, exclude_none=True)
    return [f"{key} = {_toml(value)}" for key, value in written.items()]


def _toml(value: Any) -> str:
    """Write a scalar as TOML: the JSON form of text, numbers and switches is valid TOML."""
    return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")


def _there_already(path: Path) -> DeploymentError:
    """Return the error for a file that stands in the way, with what is wrong with it if something is."""
    try:
        load_config(path)
    except DeploymentError as error:
        why = error.message.removeprefix(f"{path}: ")
        return DeploymentError(f"there is a {path} already, and it cannot be used: {why}", remedy="mend it")
    return DeploymentError(f"there is a {path} already", remedy="edit it, or remove it first")
