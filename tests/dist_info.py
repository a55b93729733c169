"""Writes installed distributions by hand, also such as no build tool would make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

MANIFEST = """\
manifest = 1
[pack]
name = "{name}"
[[skill]]
name = "run"
handler = "{package}:run"
"""

CODE = """\
from pathlib import Path
Path(__file__).with_name("IMPORTED").touch()
def run() -> str:
    \"\"\"Run.\"\"\"
    return "ran"
"""


def write_pack(
    site: Path,
    name: str = "tide",
    *,
    distribution: str | None = None,
    version: str = "1.4",
    package: str | None = None,
    manifest: str | None = MANIFEST,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    extra: Sequence[str] = (),
    record: bool = True,
    metadata: str | None = None,
    files: Mapping[str, str] | None = None,
) -> Path:
    """Install a pack into `site` and return its package's folder; importing it leaves a file IMPORTED.

    Args:
        site: the site folder.
        name: name of the pack.
        distribution: its distribution, `NAME-pack` by default.
        version: its version.
        package: its package, `NAME_pack` by default.
        manifest: text of pack.toml; None for a wheel that forgot it.
        groups: entry points; by default the one that a pack has.
        extra: more lines of RECORD.
        record: whether there is a RECORD.
        metadata: text of METADATA.
        files: more files of the package, path below it to text.
    """
    distribution = distribution or f"{name.replace('_', '-')}-pack"
    package = package or f"{name}_pack"
    root = site / package
    root.mkdir(parents=True, exist_ok=True)
    info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    contents = {"__init__.py": CODE, **(files or {})}
    if manifest is not None:
        contents["pack.toml"] = manifest.replace("{name}", name).replace("{package}", package)
    for path, text in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (info / "entry_points.txt").write_text(entry_points(groups or {"remit.packs": {name: package}}))
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n\nName: not this\n"
        if metadata is None
        else metadata
    )
    if record:
        lines = [f"{package}/{path},," for path in contents]
        lines += [f"{info.name}/{part},," for part in ("METADATA", "entry_points.txt", "RECORD")]
        (info / "RECORD").write_text("\n".join([*lines, *extra]) + "\n")
    return root


def write_editable(
    site: Path, project: Path, name: str = "tide", *, loader: str | None = None, source: Path | None = None
) -> Path:
    """Install a pack as `pip install -e` does and return its package's folder in the project.

    Args:
        site: the site folder.
        project: the project's folder; the package lies in `src`.
        name: name of the pack.
        loader: text of the `.pth`; by default the path of `src`.
        source: what direct_url.json names; by default the project.
    """
    root = write_pack(project / "src", name)
    built = next((project / "src").glob("*.dist-info"))
    info = site / built.name
    site.mkdir(parents=True, exist_ok=True)
    built.rename(info)
    (site / f"_{name}.pth").write_text(f"{project / 'src'}\n" if loader is None else loader)
    (info / "direct_url.json").write_text(
        f'{{"url": "{(source or project).as_uri()}", "dir_info": {{"editable": true}}}}'
    )
    parts = ("METADATA", "entry_points.txt", "RECORD", "direct_url.json")
    (info / "RECORD").write_text("\n".join([f"_{name}.pth,,", *(f"{info.name}/{part},," for part in parts)]) + "\n")
    return root


def entry_points(groups: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text of `entry_points.txt`."""
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items()) + "\n"
        for group, entries in groups.items()
    )
