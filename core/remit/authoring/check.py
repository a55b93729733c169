"""The conformance kit: does a pack keep to its manifest, and can a model use it?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.authoring.check_project import check_manifest, check_project, check_requirements, read_it
from remit.authoring.check_rights import check_rights
from remit.authoring.check_running import Examples, check_import, stage
from remit.authoring.check_targets import check_targets
from remit.authoring.check_words import check_words, place
from remit.authoring.findings import Finding, Report, ordered
from remit.authoring.source_facts import Source
from remit.authoring.subject import Subject, subject
from remit.authoring.watching import Watching
from remit.deployment.try_pack import try_pack
from remit.errors import ManifestError, PackError, SetupError
from remit.packs.describe import describe_pack
from remit.packs.installed import InstalledPack, PackProblem
from remit.packs.manifest import Manifest
from remit.testing.network import only_to
from remit_sandbox.probe import probe
from remit_sandbox.values import Enforcement

if TYPE_CHECKING:
    from remit_sandbox import Sandbox
    from remit_sandbox.broker import NetworkEvent

WHERE = "`remit packs try` shows where"
"""The remedy for code that fails."""

PLACEHOLDER = "placeholder-of-remit-packs-check"
"""What every secret is while examples run."""


def check_pack(
    source: str | Path | InstalledPack,
    *,
    settings: Mapping[str, Any] | None = None,
    workspace: str | Path | None = None,
    examples: bool = True,
    paths: Sequence[str] | None = None,
) -> Report:
    """Check a pack; whatever is wrong with it becomes a finding.

    Its code runs in cells only: once without any right to be imported and described, and for each example with what
    its manifest asks for, but never with the network. Its source is read as text beside that.

    Args:
        source: the folder of its project, a wheel, or the name of an installed pack.
        settings: values for the pack's settings.
        workspace: a folder whose copy is the workspace of the examples; None for `tests/workspace` of the project.
        examples: whether the examples of the manifest are run.
        paths: site folders; None for this interpreter's own.

    Raises:
        UnknownPack: no pack of this name is installed.
        UsageError: a setting that it does not have.
        RunError: this machine cannot start cells.
    """
    try:
        with subject(source, paths) as found:
            manifest = read_it(found)
            if isinstance(manifest, Finding):
                return Report(pack=found.pack.name, findings=ordered([manifest, *check_project(found)]))
            return _Check(found, manifest, settings or {}, paths).report(workspace, examples)
    except (ManifestError, PackError) as error:
        if error.exit_code == 2:
            raise
        finding = Finding(code="project-unreadable", level="error", message=error.message, remedy=error.remedy)
        return Report(pack="", findings=(finding,))


class _Check:
    def __init__(
        self, found: Subject, manifest: Manifest, settings: Mapping[str, Any], paths: Sequence[str] | None
    ) -> None:
        self._subject = found
        self._manifest = manifest
        self._settings = settings
        self._paths = paths
        self._source = Source(found.pack.root)
        self._enforcement: Enforcement = "available" if probe().missing else "kernel"
        self._findings: list[Finding] = []
        self._notes = [f"{found.shown(path)} is no Python that can be read" for path in self._source.unreadable]

    def report(self, workspace: str | Path | None, examples: bool) -> Report:
        from remit_sandbox import Sandbox

        self._add(check_project(self._subject))
        self._add(check_requirements(self._subject))
        self._add(check_manifest(self._subject, self._manifest, self._source))
        network: list[NetworkEvent] = []
        run = 0
        with Sandbox(on_network=network.append, connect=only_to({})) as sandbox:
            if self._describe(sandbox):
                run = self._run(sandbox, network, workspace, examples)
        return Report(
            pack=self._manifest.name,
            findings=ordered(self._findings),
            notes=tuple(self._notes),
            skills=tuple(self._manifest.skills),
            examples=run,
        )

    def _add(self, findings: Iterable[Finding]) -> None:
        self._findings += findings

    def _error(self, code: str, message: str, remedy: str = "", **place: Any) -> None:
        self._findings.append(Finding(code=code, level="error", message=message, remedy=remedy, **place))

    def _describe(self, sandbox: Sandbox) -> bool:
        """Derive the schemas in an empty cell; False when the pack cannot even be imported."""
        pack, manifest = self._subject.pack, self._manifest
        try:
            described = describe_pack(pack, manifest, sandbox, paths=self._paths, enforcement=self._enforcement)
        except PackError as error:
            trace = error.traceback.strip().splitlines()
            self._error("import-fails", f"{error.message} ({trace[0]})" if trace else error.message, WHERE)
            return False
        for name, one in described.items():
            path, line, node = place(self._source.find(manifest.skills[name].handler))
            file = self._subject.shown(path) if path else ""
            if one.refused:
                self._error("skill-refused", one.refused, skill=name, file=file, line=line)
            else:
                self._add(check_words(name, one, node, file=file, line=line))
                self._add(check_targets(name, one, manifest.skills[name].targets, file=file, line=line))
        return True

    def _run(self, sandbox: Sandbox, network: list[NetworkEvent], workspace: str | Path | None, examples: bool) -> int:
        with tempfile.TemporaryDirectory(prefix="remit-check-") as folder:
            folder_of_examples = stage(self._subject, workspace, Path(folder))
            try:
                deployment = try_pack(
                    self._subject.pack,
                    settings=self._settings,
                    enforcement=self._enforcement,
                    paths=self._paths,
                    workspace=folder_of_examples,
                    secrets=dict.fromkeys(self._manifest.permission().secrets, PLACEHOLDER),
                    sandbox=sandbox,
                )
            except SetupError as error:
                self._error("pack-refused", error.message, error.remedy)
                return 0
            with deployment:
                skills = {one.name: one for one in deployment.skills.values() if one.confined}
                self._add(filter(None, map(self._left_out, deployment.problems)))
                cells = [one.cell for one in skills.values() if one.cell is not None]
                if not cells:
                    return 0
                watching = Watching(sandbox, network, cells[0])
                self._add(check_import(watching, self._subject, self._manifest))
                done = Examples(watching, self._subject, skills if examples else {})
            self._add(done.findings)
            self._notes += [*deployment.notes, *done.notes]
            self._add(check_rights(self._subject, self._manifest, self._source, done.observed))
            return done.run

    def _left_out(self, problem: PackProblem) -> Finding | None:
        """A skill that could be described and is still left out: its rights cannot be given on this machine."""
        about, _, reason = problem.reason.removeprefix("skill ").partition(": ")
        if reason.startswith("it is refused"):
            return None
        return Finding(code="skill-refused", level="error", message=reason, remedy=problem.remedy, skill=about)
