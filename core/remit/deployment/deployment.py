"""A deployment that is open: its usable skills, its rules, its sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.account import account, other_name
from remit.deployment.agents import checked_agents
from remit.deployment.anchors import workspace_of
from remit.deployment.assemble import Assembled, Ground, assemble
from remit.deployment.config import Config, SubAgentConfig
from remit.deployment.delegate import delegating
from remit.deployment.files import DeploymentFiles
from remit.deployment.keeping import NotifyConfig
from remit.deployment.layers import MANAGED_FILE, Layers, combine, load_managed
from remit.deployment.plugins import check_plugins, open_extensions
from remit.deployment.site_folders import site_folders
from remit.deployment.trust import Standing, require, standing
from remit.deployment.unreadable import read_or_record
from remit.errors import DeploymentError
from remit.extensions.extensions import NO_EXTENSIONS, Extensions
from remit.packs.discovery import discover
from remit.packs.installed import Inventory, PackProblem
from remit.packs.lock import Lock
from remit.skills import Skill
from remit.state_folder import StateFolder, data_folders, data_name, find_state, open_state
from remit.values import ReadOnly
from remit_sandbox.errors import SandboxError

if TYPE_CHECKING:
    from remit.policy.rules import Rules
    from remit_sandbox import CellSpec, Sandbox


class Deployment:
    """A deployment that is open; close it, or use it as a context manager.

    Attributes:
        folder: absolute real path.
        config: what holds, all layers together.
        lock: what was accepted.
        state_folder: where its state lies.
        id: its id in the state.
        read_only: the mode.
        skills: full name to skill: enabled, locked, undrifted; those that the mode takes away are withheld.
        problems: packs and skills that were left out, with reason and remedy.
        notes: what of the configuration gives nothing here, and why.
        standing: who accepted it.
        inventory: what is installed.
        upper_agents: agent to what the managed file says of it.
        ground: what its packs were assembled on.
        extensions: what its extensions give, and what of them was left out.
    """

    def __init__(
        self,
        *,
        files: DeploymentFiles,
        layers: Layers,
        state: StateFolder,
        inventory: Inventory,
        standing: Standing,
        read_only: ReadOnly = False,
        paths: Sequence[str] | None = None,
        principal: str | None = None,
        on_close: Callable[[], None] | None = None,
        sandbox: Sandbox | None = None,
        extensions: Extensions = NO_EXTENSIONS,
        borrowed: bool = False,
    ) -> None:
        """Assemble a deployment from parts that were read already; use `open` instead."""
        self.folder: Path = files.folder
        self.config: Config = layers.config
        self.lock: Lock = files.lock
        self.state_folder: Path = state.path
        self.id: str = state.id
        self.read_only: ReadOnly = read_only
        self.standing = standing
        self.inventory = inventory
        self.principal = principal or account()
        self.upper_agents: Mapping[str, SubAgentConfig] = layers.upper_agents
        self.workspace: Path = workspace_of(self.folder, self.config.workspace)
        if standing.trusted:
            _make(self.workspace)
        self.paths: tuple[str, ...] = site_folders(paths)
        self._sandbox: Sandbox | None = sandbox
        self._borrowed = borrowed
        self._parts = (files, layers, state, paths)
        self.extensions: Extensions = extensions
        self._on_close = on_close
        self._starting = threading.Lock()
        try:
            self.ground: Ground = self._ground(files, layers, state)
            self.assembled: Assembled = assemble(self.ground)
            self.skills: Mapping[str, Skill] = self.assembled.skills
            self.problems: tuple[PackProblem, ...] = self.assembled.problems
            self.rules: Rules = self._load_rules()
            of_agents = checked_agents(self.config, self.assembled)
        except BaseException:
            self.close()
            raise
        self.notes: tuple[str, ...] = (*layers.notes, *extensions.notes, *self.assembled.notes, *of_agents)
        self.notes += _left_behind(state, self.principal)

    @classmethod
    def open(
        cls,
        folder: str | Path = ".",
        *,
        read_only: ReadOnly = False,
        paths: Sequence[str] | None = None,
        require_trust: bool = True,
        overrides: Mapping[str, Any] | None = None,
        principal: str | None = None,
        managed: Path = MANAGED_FILE,
        extensions: bool = True,
    ) -> Deployment:
        """Open the deployment in `folder`; no parent folder is searched.

        A pack that is broken, collides, has drifted, is not installed or not locked is left out
        and listed in `problems`; everything else keeps working.

        Args:
            folder: where `remit.toml` lies.
            read_only: True removes every write root and every skill whose effect is not read;
                `strict` removes the network, too.
            paths: site folders in which packs are looked for; None for this interpreter's own.
            require_trust: refuse what nobody has accepted; False only to look at it.
            overrides: tables `model`, `agent`, `defaults`, `log` for this run; defaults only tighten.
            principal: for whom it runs; None for the person at this machine.
            managed: the managed file.
            extensions: load the extensions that it enables; False switches all off for this run.

        Raises:
            NotTrusted: nobody has accepted it on this machine.
            DeploymentError: `remit.toml` is missing or wrong, or a required pack is left out.
            LockError: the lock is unreadable.
            PolicyError: a grant or rule that cannot be held.
        """
        files = read_or_record(folder)
        upper = load_managed(managed)
        layers = combine(upper.config if upper else None, files.config.config, overrides)
        found = standing(files, find_state(files.folder), managed=upper.config.trust if upper else ())
        if require_trust:
            require(found, files.folder)
        check_plugins(layers.config.extensions)
        sources = {name: pack.from_ for name, pack in layers.config.packs.items() if pack.from_}
        person, state = principal or account(), open_state(files.folder)
        inventory, loaded = discover(paths, sources=sources), NO_EXTENSIONS
        if found.trusted:
            loaded = open_extensions(layers.config, files, principal=person, paths=paths, off=not extensions)
        try:
            return cls(
                files=files,
                layers=layers,
                state=state,
                inventory=inventory,
                standing=found,
                read_only=read_only,
                paths=paths,
                principal=person,
                extensions=loaded,
            )
        except BaseException:
            loaded.close()
            raise

    def acting_for(self, principal: str) -> Deployment:
        """Return this deployment as it is for somebody else: with a `${data}` of their own.

        It has the same extensions, and the same sandbox, in which cells with different rights are different
        cells. Close it before this one.

        Args:
            principal: for whom it acts.

        Raises:
            DeploymentError, PolicyError: as `open`.
        """
        return self._again(principal, self._parts[1])

    def rehearsing(self, principal: str, *, workspace: Path | None = None) -> Deployment:
        """Return this deployment for a rehearsal, such as one attempt of an evaluation.

        It acts for somebody of its own, so that it finds no memory, `${data}` or standing sign-off of a person; nobody
        is told of calls that wait for sign-off; its agents are asked through the model that asks them, and what it
        remembers stays in its state. All else is as in `acting_for`.

        Args:
            principal: for whom it acts.
            workspace: an existing folder in place of the deployment's workspace; None for that one.

        Raises:
            DeploymentError, PolicyError: as `open`.
        """
        layers = self._parts[1]
        agents = {name: one.model_copy(update={"model": None}) for name, one in layers.config.agents.items()}
        memory = layers.config.memory.model_copy(update={"store": ""})
        changes: dict[str, Any] = {"notify": NotifyConfig(), "agents": agents, "memory": memory}
        if workspace is not None:
            changes["workspace"] = str(workspace)
        return self._again(principal, replace(layers, config=layers.config.model_copy(update=changes)))

    def _again(self, principal: str, layers: Layers) -> Deployment:
        files, _, state, paths = self._parts
        return Deployment(
            files=files,
            layers=layers,
            state=state,
            inventory=self.inventory,
            standing=self.standing,
            read_only=self.read_only,
            paths=paths,
            principal=principal,
            sandbox=self.sandbox,
            extensions=self.extensions,
            borrowed=True,
        )

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox of this deployment, made on first use; it starts its supervisor later still."""
        with self._starting:
            if self._sandbox is None:
                from remit_sandbox import Sandbox

                cells = self.config.cells
                self._sandbox = Sandbox(max_cells=cells.most, max_memory=cells.memory_mb << 20)
            return self._sandbox

    def prepare(self) -> None:
        """Have a cell started for each pack in the background, so that a conversation's first call need not wait.

        What cannot be started now says so when it is called.
        """
        specs: list[CellSpec] = []
        for skill in self.skills.values():
            if skill.cell is not None and not skill.withheld and skill.cell not in specs:
                specs.append(skill.cell)
        with suppress(SandboxError):
            for spec in specs:
                self.sandbox.prepare(spec)

    def close(self) -> None:
        """End every cell, and remove what was made for the time only. Calling it again does nothing."""
        with self._starting:
            sandbox, self._sandbox = self._sandbox, None
            after, self._on_close = self._on_close, None
        if not self._borrowed:
            if sandbox is not None:
                sandbox.close()
            self.extensions.close()
        if after is not None:
            after()

    def __enter__(self) -> Deployment:
        """Return the deployment itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _load_rules(self) -> Rules:
        from remit.deployment.not_enabled import skills_not_enabled
        from remit.policy.rules import Rules

        return Rules.load(
            self.config.rules,
            self.config.defaults,
            skills={**self.skills, **delegating(self.config)},
            folder=self.folder,
            anchors={"workspace": str(self.workspace)},
            incomplete=bool(self.problems),
            further=lambda: skills_not_enabled(self.inventory, self.skills),
        )

    def _ground(self, files: DeploymentFiles, layers: Layers, state: StateFolder) -> Ground:
        return Ground(
            folder=self.folder,
            text=files.config.text,
            config=layers.config,
            upper=layers.upper_grants,
            lock=self.lock,
            inventory=self.inventory,
            workspace=self.workspace,
            state=state,
            principal=self.principal,
            read_only=self.read_only,
            paths=self.paths,
            sandbox=lambda: self.sandbox,
            secret_providers=self.extensions.secret_providers,
        )


def _make(workspace: Path) -> None:
    try:
        workspace.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DeploymentError(f"the workspace {workspace} cannot be made: {error.strerror or error}") from error


def _left_behind(state: StateFolder, person: str) -> tuple[str, ...]:
    """Say what packs keep under a name that variables give to the person, and that is not used any more."""
    name = other_name()
    if not name or person != account() or data_folders(state.path, person):
        return ()
    folders = data_folders(state.path, name)
    note = (
        f"packs kept data for {name}, as LOGNAME or USER says, and this is for {person}, the account of this process: "
        "to go on with it, rename {old} to {new}"
    )
    return tuple(note.format(old=folder, new=folder.with_name(data_name(person))) for folder in folders)
