"""`[tool.jaxmigrate]` in pyproject.toml: found, checked key by key, and turned into plain data.

A misspelt key that is silently ignored would switch off a rule without anybody noticing, so whatever is not understood
is an error that names the file, the line and the key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxmigrate.config_keys import (
    KEYS,
    LAYOUTS,
    CommandConfig,
    Layout,
    VerifyConfig,
    Version,
    WrongValueError,
    parse_codes,
    parse_version,
    table,
)
from jaxmigrate.program.declarations import KINDS, NOTHING_DECLARED, Declarations
from jaxmigrate.records import made, record
from jaxmigrate.sources import matches

__all__ = [
    "LAYOUTS",
    "CommandConfig",
    "Config",
    "ConfigError",
    "Layout",
    "VerifyConfig",
    "Version",
    "find_config",
    "parse_codes",
    "parse_version",
    "read_config",
]


class ConfigError(Exception):
    """A configuration that cannot be used. Its text names the file, the line where known, and the key."""


@record
class Config:
    """What a project asks for.

    Attributes:
        root: The folder that patterns start from: the one that holds `file`, else the current one.
        file: The pyproject.toml that was read, or None where no project has a `[tool.jaxmigrate]` table.
        select: Codes or their beginnings that are reported; `JM` means all.
        ignore: Codes or their beginnings that are not, where the longer of two that match decides.
        exclude: Patterns of files and folders that are left out.
        target_jax: The oldest JAX release that rewritten code must run on; None for what the project requires.
        layout: How rewritten code holds its arrays.
        per_file_ignores: Pairs of a pattern and the codes that are not reported in files that match it.
        verify: How the project's programs are run.
        declared: What the project says of its own and of libraries' functions.
    """

    root: Path = made(factory=Path.cwd)
    file: Path | None = None
    select: tuple[str, ...] = ("JM",)
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    target_jax: Version | None = None
    layout: Layout = "auto"
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    verify: VerifyConfig = VerifyConfig()
    declared: Declarations = NOTHING_DECLARED

    def excludes(self, path: Path, below: Path | None = None) -> bool:
        """Whether the project leaves a file or folder out; not for a pattern that fits the folder `below` it already.

        Who names an excluded folder wants what is in it.
        """
        if not self.exclude:
            return False
        inside = self._inside(path)
        top = None if below is None else self._inside(below)
        return inside is not None and any(
            matches(pattern, inside) and not (top and matches(pattern, top)) for pattern in self.exclude
        )

    def reports(self, code: str, path: Path | None = None) -> bool:
        """Whether findings of a rule are wanted, in a certain file if one is given."""
        if _longest(self.select, code) <= _longest(self.ignore, code):
            return False
        inside = None if path is None else self._inside(path)
        if inside is None:
            return True
        return not any(
            _longest(codes, code) > 0 for pattern, codes in self.per_file_ignores if matches(pattern, inside)
        )

    def _inside(self, path: Path) -> str | None:
        try:
            return path.absolute().relative_to(self.root.absolute()).as_posix()
        except ValueError:
            return None


def _longest(prefixes: Sequence[str], code: str) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)


def find_config(start: Path) -> Config:
    """The configuration for a file or folder: the nearest pyproject.toml upward that has a `[tool.jaxmigrate]` table.

    Raises:
        ConfigError: A pyproject.toml on the way cannot be read, or its table is wrong.
    """
    absolute = start.absolute()
    for folder in [absolute, *absolute.parents] if os.path.isdir(absolute) else absolute.parents:
        file = folder / "pyproject.toml"
        if os.path.isfile(file) and (config := read_config(file)) is not None:
            return config
    return Config()


def read_config(file: Path) -> Config | None:
    """The configuration in a pyproject.toml, or None if it has no `[tool.jaxmigrate]` table.

    Raises:
        ConfigError: As `find_config`.
    """
    import tomllib

    try:
        text = file.read_bytes().decode("utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8, as TOML must be") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: is not valid TOML: {error}") from error
    tool = document.get("tool", {})
    if not isinstance(tool, dict) or "jaxmigrate" not in tool:
        return None
    try:
        found = table(KEYS, tool["jaxmigrate"], ())
        kinds = (*(one.replace("-", "_") for one in KINDS), "processes")
        said = {kind: found.pop(kind) for kind in kinds if kind in found}
        declared = Declarations(file.parent.absolute(), **said) if said else NOTHING_DECLARED
        config = Config(root=file.parent, file=file, declared=declared, **found)
        _check_processes(config)
        return config
    except WrongValueError as error:
        raise ConfigError(f"{_place(file, text, error.keys)}: {error}") from None


def _check_processes(config: Config) -> None:
    """Refuses a program of one process that is to be verified with several."""
    runs: tuple[VerifyConfig | CommandConfig, ...] = (config.verify, *config.verify.commands)
    for one in runs:
        if config.declared.processes == 1 and one.processes > 1:
            named = ("commands", one.name) if isinstance(one, CommandConfig) else ()
            said = "tool.jaxmigrate.processes = 1 says that the program runs as one process"
            raise WrongValueError(("verify", *named, "processes"), f"is more than 1, though {said}; change one of them")


def _place(file: Path, text: str, keys: tuple[str, ...]) -> str:
    """The file and the line that comes closest to setting a key.

    TOML's parser keeps no positions, so this searches the text for headers and assignments.
    """
    wanted = ("tool", "jaxmigrate", *keys)
    candidates = [(len(path), number) for path, number in _settings(text) if path == wanted[: len(path)]]
    return f"{file}:{max(candidates, key=lambda found: found[0])[1]}" if candidates else str(file)


def _settings(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    header: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if opened := _HEADER.match(line):
            header = _split_key(opened[1])
            yield header, number
        elif assigned := _ASSIGNMENT.match(line):
            yield header + _split_key(assigned[1]), number


_PART = r"(?:[\w-]+|\"[^\"]*\"|'[^']*')"
_HEADER = re.compile(rf"\s*\[\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]\s*(?:#|$)")
_ASSIGNMENT = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")


def _split_key(key: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, key))
