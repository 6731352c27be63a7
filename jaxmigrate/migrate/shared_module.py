"""Where the functions that several files share stand: one module that all of them can import.

How a file can import another one shows in what it imports, or in who imports it; where nothing shows, it has the
functions itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.migrate.homes import homes_of
from jaxmigrate.migrate.names import FileNames
from jaxmigrate.program.modules import Module, Project

OTHERWISE = {"shard": ("to_mesh",), "get_mesh": ("device_mesh",)}  # where a file has something else of that name
NAMES = ("sharding", "device_mesh", "jax_sharding", "jaxmigrate_sharding")


@dataclass(frozen=True, slots=True)
class Location:
    """Where the shared functions of a file stand: in itself, or in a module that it imports by a name."""

    module: str  # empty where it is the file itself
    path: Path | None = None

    def name(self, function: str, called: str, names: FileNames) -> str:
        """What the file calls one of the functions, which the module has by another name perhaps."""
        if self.module:
            return names.import_from(self.module, called, *OTHERWISE.get(function, ()))
        return names.free(function, *OTHERWISE.get(function, ()))


def names_of(functions: Collection[str], taken: Collection[str], text: str | None) -> dict[str, str]:
    """What a module calls functions whose usual names its users have for others; as in its text, if it is there."""
    found = {}
    for function, others in OTHERWISE.items():
        names = (function, *others)
        defined = (name for name in names if text is not None and re.search(rf"^def {name}\(", text, re.MULTILINE))
        chosen = next(defined, None) or next((name for name in names if name not in taken), function)
        if function in functions and chosen != function:
            found[function] = chosen
    return found


def locations(
    users: Sequence[Module],
    modules: Sequence[Module],
    project: Project,
    serves: Callable[[str, Sequence[Module]], bool],
) -> dict[Module, Location]:
    """Where each file finds the shared functions; files that can import from one folder have one module there.

    `serves` says whether the text of a module that is there already has all that some files want of it.
    """
    found: dict[Module, Location] = {module: Location("") for module in modules}
    groups: dict[Path, list[tuple[Module, str]]] = {}
    for module, home in homes_of(users, modules, project).items():
        groups.setdefault(home.folder, []).append((module, home.prefix))
    for folder, group in groups.items():
        if len(group) > 1:
            stem = _name_in(folder, project, [module for module, _ in group], serves)
            found |= {m: Location(f"{prefix}{stem}", folder / f"{stem}.py") for m, prefix in group}
    return found


def _name_in(
    folder: Path, project: Project, users: Sequence[Module], serves: Callable[[str, Sequence[Module]], bool]
) -> str:
    """The name of a module that a folder does not have yet, or that serves its users as it is."""
    for name in NAMES:
        text = project.text(folder / f"{name}.py")
        if serves(text, users) if text is not None else not (folder / name).exists():
            return name
    return NAMES[-1]
