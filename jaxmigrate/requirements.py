"""Which releases of JAX a project says it works with, read from where projects say such things.

As text: `setup.py` computes its requirements, and a requirement in a list or a string of it is what can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from jaxmigrate.config import Config
from jaxmigrate.program.old_names import TURN, Era, Release

OLDEST: Release = (0, 6, 1)
LOWER = (">=", "==", "~=", ">")
FILES = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "requirements/requirements.txt")
_REQUIREMENT = re.compile(
    r"""(?:^|["'\s,=])jax\s*(?:\[[^\]]*\])?\s*\(?(?P<bounds>(?:\s*,?\s*(?:>=|==|~=|<=|>|<|!=)\s*\d+(?:\.\d+)*(?:\.\*)?)+)""",
    re.MULTILINE,
)
_BOUND = re.compile(r"(>=|==|~=|<=|>|<|!=)\s*(\d+(?:\.\d+)*)")
_PIN = re.compile(
    r"""(?:^|["'\s,=])(?P<name>jax(?:lib)?)\s*(?:\[[^\]]*\])?\s*\(?(?:[^"'\n;#]*?,)?\s*"""
    r"""(?P<how>==|~=|<=|<)\s*(?P<version>\d+(?:\.\d+)*)(?P<any>\.\*)?"""
)
_COMMENT = re.compile(r"(?m)(?:^|\s)#.*$")


def project_folder(start: Path) -> Path:
    """The nearest folder upward of a file or folder that says what it requires; its own where none does."""
    folder = start.absolute() if start.is_dir() else start.absolute().parent
    for candidate in (folder, *folder.parents):
        if any((candidate / name).is_file() for name in FILES):
            return candidate
        if (candidate / ".git").exists():
            break
    return folder


def project_of(config: Config, paths: Iterable[Path]) -> Path:
    """The project that files are of: the folder with the configuration, else what lies around the first of them."""
    return config.root if config.file is not None else project_folder(next(iter(paths), Path.cwd()))


def target_jax(config: Config, root: Path, told: Release | None = None) -> Release | None:
    """The release that a project must run on: as told or configured, else the oldest that it says it works with."""
    return told or config.target_jax or required_jax(root)


def required_jax(root: Path) -> Release | None:
    """The lower bound that a project's files set for `jax`; None without one, or where it is below 0.6.1.

    0.6.1 is the first release that has what is written, so that a project which asks for less has to ask for more.
    """
    lower = [bound for how, bound in _bounds(root) if how in LOWER]
    return min(lower) if lower and min(lower) >= OLDEST else None


def written_for(root: Path) -> Era:
    """Whether a project asks for releases before 0.6 only, or since 0.6 only; empty where it says neither."""
    bounds = list(_bounds(root))
    lower = [bound for how, bound in bounds if how in LOWER]
    upper = [bound for how, bound in bounds if how in ("<", "<=", "==", "~=")]
    if lower and min(lower) >= TURN:
        return "new"
    return "old" if upper and max(upper) <= TURN else ""


def pins(root: Path) -> Iterator[str]:
    """Each requirement of a project that no release with `jax.shard_map` meets, in words."""
    oldest = ".".join(map(str, OLDEST))
    for name in FILES:
        try:
            lines = (root / name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            for pin in _PIN.finditer(_COMMENT.sub("", line)):
                if _is_too_old(pin["how"], tuple(map(int, pin["version"].split("."))), pin["any"] is not None):
                    asked = f"{pin['name']}{pin['how']}{pin['version']}{pin['any'] or ''}"
                    yield f"{name}:{number} asks for {asked}, but rewritten code needs jax {oldest} or newer"


def _is_too_old(how: str, version: Release, any_patch: bool) -> bool:
    """Whether an upper bound, or a pin, leaves out the oldest release that rewritten code runs on, and all after it."""
    if how == "~=":
        how, version, any_patch = "==", version[:-1], True
    if how == "==" and any_patch:
        return version < OLDEST[: len(version)]
    return version <= OLDEST if how == "<" else version < OLDEST


def _bounds(root: Path) -> Iterator[tuple[str, Release]]:
    for name in FILES:
        try:
            text = (root / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for requirement in _REQUIREMENT.finditer(_COMMENT.sub("", text)):
            for how, version in _BOUND.findall(requirement["bounds"]):
                yield how, tuple(int(part) for part in version.split("."))
