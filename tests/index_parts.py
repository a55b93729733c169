"""Folders of wheels for pip to find, and environments of their own to install into; no network, no build."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from remit.deployment.init import init
from remit.deployment.trust import trust
from remit.installing.adding import Wish, adding
from remit.installing.environment import Environment
from remit.installing.place import Place
from remit_sandbox import Sandbox
from tests.dist_info import entry_points
from tests.wheel_parts import record

CELLS = Sandbox()
"""What every test that describes packs shares; it starts its supervisor when it is first used."""

SKILL = """\
[[skill]]
name = "{name}"
handler = "{package}:{name}"
effect = "{effect}"
uses = [{uses}]
"""

CODE = '''\
from pathlib import Path
RAN = Path("/proc/self/nowhere")
def {name}(place: str) -> str:
    """{description}

    Args:
        place: where.
    """
    return place + " {version}"
'''


def skill(name: str, *, effect: str = "read", uses: str = "", description: str = "Run.") -> dict[str, str]:
    """Return what `pack_wheel` needs to know of a skill."""
    return {"name": name, "effect": effect, "uses": uses, "description": description}


RUN = (skill("run"),)


def pack_wheel(
    folder: Path,
    name: str = "tide",
    version: str = "1.0",
    *,
    distribution: str = "",
    skills: Sequence[Mapping[str, str]] = RUN,
    net: str = "",
    requires: Sequence[str] = (),
    files: Mapping[str, str | bytes] | None = None,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    tag: str = "py3-none-any",
) -> Path:
    """Write a sound wheel of the pack `name`; importing it does nothing.

    Args:
        folder: where to.
        name: of the pack; its package is `remit_NAME`.
        version: of the distribution.
        distribution: its name, `remit-NAME` by default.
        skills: of `skill`.
        net: what its permission for the network holds, in quotes.
        requires: requirements.
        files: more or other files, `{info}` stands for the `.dist-info` folder.
        groups: more entry points.
        tag: the wheel's tag.
    """
    package = f"remit_{name}"
    manifest = f'manifest = 1\n[pack]\nname = "{name}"\nsummary = "Pack {name}"\n[permissions]\nnet = [{net}]\n'
    manifest += "".join(SKILL.format(package=package, **one) for one in skills)
    code = "".join(CODE.format(version=version, **one) for one in skills)
    contents = {f"{package}/__init__.py": code, f"{package}/pack.toml": manifest, **(files or {})}
    entries = {"remit.packs": {name: package}, **(groups or {})}
    where = distribution or f"remit-{name}"
    return write_wheel(folder, where, version, contents, requires=requires, groups=entries, tag=tag)


def write_wheel(
    folder: Path,
    distribution: str,
    version: str,
    files: Mapping[str, str | bytes],
    *,
    requires: Sequence[str] = (),
    groups: Mapping[str, Mapping[str, str]] | None = None,
    recorded: Mapping[str, bytes] | None = None,
    tag: str = "py3-none-any",
) -> Path:
    """Write a wheel of any distribution; `recorded` is what RECORD says instead of the truth."""
    stem = f"{distribution.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {one}\n" for one in requires)
    whole: dict[str, str | bytes] = {
        **{name.replace("{info}", info): text for name, text in files.items()},
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    if groups:
        whole[f"{info}/entry_points.txt"] = entry_points(groups)
    data = {name: text.encode() if isinstance(text, str) else text for name, text in whole.items()}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in data.items():
            archive.writestr(name, content)
        archive.writestr(f"{info}/RECORD", record({**data, **(recorded or {})}, info))
    return path


def write_sdist(folder: Path, name: str, marker: Path) -> Path:
    """Write a source distribution whose build leaves a file at `marker`."""
    setup = f"open({str(marker)!r}, 'w').close()\nfrom setuptools import setup\nsetup(name={name!r}, version='1.0')\n"
    files = {"setup.py": setup, "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file, text in files.items():
            entry = tarfile.TarInfo(f"{name}-1.0/{file}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def use_index(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let pip find what lies in `folder`, and nothing else."""
    for name, value in index_variables(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)


def index_variables(folder: Path) -> dict[str, str]:
    """Return the environment variables that let pip find what lies in `folder`, and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    return {"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


def new_environment(place: Path) -> Environment:
    """Make a virtual environment that finds Remit, pip and all that they need where the tests do."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=60)
    site = next(place.glob("lib/python*/site-packages"))
    (site / "outer.pth").write_text("".join(f"{path}\n" for path in sys.path if Path(path).is_dir()))
    return environment_at(place)


def environment_at(place: Path) -> Environment:
    """Return the environment that `new_environment` made, or a copy of it."""
    site = next(place.glob("lib/python*/site-packages"))
    outer = (site / "outer.pth").read_text().splitlines()
    python = place / "bin" / "python"
    return Environment(python=str(python), prefix=place, site=site, scripts=place / "bin", paths=(str(site), *outer))


def new_place(folder: Path) -> Place:
    """Make a deployment and an environment of its own below `folder`."""
    deployment = folder / "deployment"
    deployment.mkdir(parents=True)
    init(deployment, enforcement="available").apply()
    return Place(folder=deployment, environment=new_environment(folder / "env"), managed=folder / "managed.toml")


def prepared(folder: Path, wheels: Callable[[Path], object], *wanted: str) -> Path:
    """Make a place below `folder` to which `wanted` have been added, for `copied`; return `folder`.

    Args:
        folder: empty; gets `index`, `state`, `env` and `deployment`.
        wheels: writes wheels into a folder.
        wanted: names of distributions.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE", str(folder / "state"))
        use_index(patch, folder / "index")
        wheels(folder / "index")
        with adding(new_place(folder), Wish(wanted=wanted), sandbox=CELLS) as addition:
            addition.apply()
    return folder


def copied(base: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return a copy of what `prepared` made, which belongs to one test."""
    for part in ("index", "state", "env", "deployment"):
        shutil.copytree(base / part, folder / part, symlinks=True)
    use_index(monkeypatch, folder / "index")
    monkeypatch.setenv("REMIT_STATE", str(folder / "state"))
    trust(folder / "deployment")
    environment = environment_at(folder / "env")
    return Place(folder=folder / "deployment", environment=environment, managed=folder / "managed.toml")


def site_names(place: Place) -> list[str]:
    """Return what lies in the site folder, without Python's caches and what the tests put there."""
    hidden = ("outer.pth", "__pycache__", "IMPORTED")
    return sorted(path.name for path in place.environment.site.iterdir() if path.name not in hidden)
