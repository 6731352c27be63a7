"""`[tool.jaxmigrate]` in pyproject.toml: found, checked key by key, and turned into plain data.

A misspelt key that is silently ignored would switch off a rule without anybody noticing, so whatever is not understood
is an error that names the file, the line and the key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from jaxmigrate.records import made, record
from jaxmigrate.sources import matches

Layout = Literal["auto", "stacked"]
Version = tuple[int, ...]

LAYOUTS: tuple[Layout, ...] = ("auto", "stacked")


class ConfigError(Exception):
    """A configuration that cannot be used. Its text names the file, the line where known, and the key."""


@record
class CommandConfig:
    """One of the commands that reach a project's sites, under `[tool.jaxmigrate.verify.commands.NAME]`.

    Attributes:
        name: What it is called in reports and by `--run`; empty for the one that needs no name.
        command: The program's arguments, the first of them the program; empty where none is configured.
        devices: How many simulated devices a process has.
        timeout: Seconds after which one run of the command is stopped, or None for no limit.
        processes: How many JAX processes make up the program.
        environment: Variables and their values, added to the user's own.
    """

    name: str = ""
    command: tuple[str, ...] = ()
    devices: int = 8
    timeout: float | None = None
    processes: int = 1
    environment: tuple[tuple[str, str], ...] = ()


@record
class VerifyConfig:
    """`[tool.jaxmigrate.verify]`; what it says of runs also holds for commands that say nothing else.

    Attributes:
        command: The program's arguments, the first of them the program; empty where none is configured.
        devices: How many simulated devices a process has.
        timeout: Seconds after which one run of the command is stopped, or None for no limit.
        processes: How many JAX processes make up the program.
        environment: Variables and their values, added to the user's own.
        commands: Commands with names, which are all run where none is chosen.
        as_compiled: Whether XLA may optimise.
        rtol: Relative tolerances in place of the program's own rounding, by dtypes; that of `""` is for all others.
        atol: Absolute ones.
    """

    command: tuple[str, ...] = ()
    devices: int = 8
    timeout: float | None = None
    processes: int = 1
    environment: tuple[tuple[str, str], ...] = ()
    commands: tuple[CommandConfig, ...] = ()
    as_compiled: bool = False
    rtol: tuple[tuple[str, float], ...] = ()
    atol: tuple[tuple[str, float], ...] = ()


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
        raise ConfigError(f"{file}: is not UTF-8, as TOML must be") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: is not valid TOML: {error}") from error
    tool = document.get("tool", {})
    if not isinstance(tool, dict) or "jaxmigrate" not in tool:
        return None
    try:
        return Config(root=file.parent, file=file, **_table(_KEYS, tool["jaxmigrate"], ()))
    except _WrongValueError as error:
        raise ConfigError(f"{_place(file, text, error.keys)}: {error}") from None


def parse_codes(text: str) -> tuple[str, ...]:
    """The codes in a comma-separated list, as `--select` takes them.

    Raises:
        ValueError: One of them cannot be a code or the beginning of one, or is that of no rule.
    """
    from jaxmigrate.rule_pages import begins_a_code

    codes = tuple(code.strip().upper() for code in text.split(",") if code.strip())
    for code in codes:
        if not _CODE.fullmatch(code):
            raise ValueError(f"{code!r} is not a rule code such as JM101, nor the beginning of one")
        if not begins_a_code(code):
            raise ValueError(f"there is no rule {code!r}, nor one whose code begins so; `jaxmigrate rule` lists them")
    return codes


def parse_version(text: str) -> Version:
    """A JAX release such as `0.7` or `0.6.1` as a tuple of numbers.

    Raises:
        ValueError: It is no release, or older than 0.6.1, the first that has `jax.shard_map`.
    """
    if not _VERSION.fullmatch(text):
        raise ValueError(f"{text!r} is not a JAX release such as 0.7 or 0.6.1")
    version = tuple(int(part) for part in text.split("."))
    if version < _OLDEST[: len(version)]:
        raise ValueError(f"JAX {text} has no jax.shard_map; 0.6.1 is the first that does")
    return version


_CODE = re.compile(r"JM\d{0,3}")
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*")
_OLDEST: Version = (0, 6, 1)


class _WrongValueError(Exception):
    def __init__(self, keys: tuple[str, ...], message: str) -> None:
        super().__init__(f"{'.'.join(('tool', 'jaxmigrate', *keys))} {message}")
        self.keys = keys


_Check = Callable[[Any, tuple[str, ...]], Any]


def _table(checks: Mapping[str, _Check], value: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """Checks a table's values and returns them under the names that the data classes give them."""
    if not isinstance(value, dict):
        raise _WrongValueError(keys, "must be a table")
    for key in value:
        if key not in checks:
            import difflib

            close = difflib.get_close_matches(key, checks, n=1)
            known = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(sorted(checks))}"
            raise _WrongValueError((*keys, key), f"is not a key that jaxmigrate knows; {known}")
    return {key.replace("-", "_"): checks[key](item, (*keys, key)) for key, item in value.items()}


def _strings(value: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _WrongValueError(keys, "must be a list of strings")
    return tuple(value)


def _codes(value: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return parse_codes(",".join(_strings(value, keys)))
    except ValueError as error:
        raise _WrongValueError(keys, f"is wrong: {error}") from None


def _target(value: Any, keys: tuple[str, ...]) -> Version:
    if not isinstance(value, str):
        raise _WrongValueError(keys, 'must be a string such as "0.7"')
    try:
        return parse_version(value)
    except ValueError as error:
        raise _WrongValueError(keys, f"is wrong: {error}") from None


def _layout(value: Any, keys: tuple[str, ...]) -> Layout:
    for layout in LAYOUTS:
        if value == layout:
            return layout
    raise _WrongValueError(keys, f"must be one of {', '.join(map(repr, LAYOUTS))}")


def _per_file_ignores(value: Any, keys: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise _WrongValueError(keys, "must be a table from patterns to lists of codes")
    return tuple((pattern, _codes(codes, (*keys, pattern))) for pattern, codes in value.items())


def _command(value: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(value, str):
        return _strings(value, keys)
    try:
        import shlex

        return tuple(shlex.split(value))
    except ValueError as error:
        raise _WrongValueError(keys, f"cannot be split into arguments: {error}") from None


def _devices(value: Any, keys: tuple[str, ...]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _WrongValueError(keys, "must be a whole number of at least 1")
    return value


def _seconds(value: Any, keys: tuple[str, ...]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise _WrongValueError(keys, "must be a number of seconds above 0")
    return float(value)


def _environment(value: Any, keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise _WrongValueError(keys, "must be a table of strings")
    return tuple(value.items())


_RUN: dict[str, _Check] = {
    "command": _command,
    "devices": _devices,
    "timeout": _seconds,
    "processes": _devices,
    "environment": _environment,
}


def _flag(value: Any, keys: tuple[str, ...]) -> bool:
    if not isinstance(value, bool):
        raise _WrongValueError(keys, "must be true or false")
    return value


def _bounds(value: Any, keys: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    found = value if isinstance(value, dict) else {"": value}
    for bound in found.values():
        if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 <= bound < float("inf"):
            raise _WrongValueError(keys, "must be a number from 0 on, or a table of such numbers by dtype")
    return tuple((dtype, float(bound)) for dtype, bound in found.items())


def _verify(value: Any, keys: tuple[str, ...]) -> VerifyConfig:
    judging: dict[str, _Check] = {"as-compiled": _flag, "rtol": _bounds, "atol": _bounds}
    shared = _table({**_RUN, **judging, "commands": lambda value, _: value}, value, keys)
    commands = shared.pop("commands", {})
    judged = {name: shared.pop(name) for name in ("as_compiled", "rtol", "atol") if name in shared}
    if not isinstance(commands, dict):
        raise _WrongValueError((*keys, "commands"), "must be a table of tables, one for each command")
    inherited = {name: item for name, item in shared.items() if name != "command"}
    named = [
        CommandConfig(name, **(inherited | _named_command(item, (*keys, "commands", name))))
        for name, item in commands.items()
    ]
    return VerifyConfig(**shared, **judged, commands=tuple(named))


def _named_command(value: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    found = _table(_RUN, value, keys)
    if not found.get("command"):
        raise _WrongValueError(keys, "must say which command")
    return found


_KEYS: dict[str, _Check] = {
    "select": _codes,
    "ignore": _codes,
    "exclude": _strings,
    "target-jax": _target,
    "layout": _layout,
    "per-file-ignores": _per_file_ignores,
    "verify": _verify,
}


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
