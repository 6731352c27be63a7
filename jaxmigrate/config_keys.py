"""The keys of `[tool.jaxmigrate]`: what each may hold, what it is without one, and what it is for.

docs/configuration.md is written from this table by `python tools/docs.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from jaxmigrate.records import record

Layout = Literal["auto", "likely", "stacked"]
Version = tuple[int, ...]

LAYOUTS: tuple[Layout, ...] = ("auto", "likely", "stacked")


@record
class CommandConfig:
    """One of the commands that reach a project's sites, under `[tool.jaxmigrate.verify.commands.NAME]`.

    Attributes:
        name: What it is called in reports and by `--run`; empty for the one that needs no name.
        command: The program's arguments, the first of them the program; empty where none is configured.
        devices: How many simulated devices a process has.
        timeout: Seconds after which one run of the command is stopped, or None for no limit.
        processes: How many JAX processes make up the program, 0 where nothing says so.
        environment: Variables and their values, added to the user's own.
    """

    name: str = ""
    command: tuple[str, ...] = ()
    devices: int = 8
    timeout: float | None = None
    processes: int = 0
    environment: tuple[tuple[str, str], ...] = ()


@record
class VerifyConfig:
    """`[tool.jaxmigrate.verify]`; what it says of runs also holds for commands that say nothing else.

    Attributes:
        command: The program's arguments, the first of them the program; empty where none is configured.
        devices: How many simulated devices a process has.
        timeout: Seconds after which one run of the command is stopped, or None for no limit.
        processes: How many JAX processes make up the program, 0 where nothing says so.
        environment: Variables and their values, added to the user's own.
        commands: Commands with names, which are all run where none is chosen.
        as_compiled: Whether XLA may optimise.
        rtol: Relative tolerances in place of the program's own rounding, by dtypes; that of `""` is for all others.
        atol: Absolute ones.
    """

    command: tuple[str, ...] = ()
    devices: int = 8
    timeout: float | None = None
    processes: int = 0
    environment: tuple[tuple[str, str], ...] = ()
    commands: tuple[CommandConfig, ...] = ()
    as_compiled: bool = False
    rtol: tuple[tuple[str, float], ...] = ()
    atol: tuple[tuple[str, float], ...] = ()


def parse_codes(text: str) -> tuple[str, ...]:
    """The codes in a comma-separated list, as `--select` takes them.

    Raises:
        ValueError: One of them cannot be a code or the beginning of one, or is that of no rule.
    """
    from jaxmigrate.findings.rule_pages import begins_a_code

    codes = tuple(code.strip().upper() for code in text.split(",") if code.strip())
    for code in codes:
        if not _CODE.fullmatch(code):
            raise ValueError(f"{code!r} is not a rule code such as JM101, nor the beginning of one")
        if not begins_a_code(code):
            raise ValueError(f"no rule's code is or begins with {code!r}; `jaxmigrate rule` lists all")
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


class WrongValueError(Exception):
    """A value that a key cannot have."""

    def __init__(self, keys: tuple[str, ...], message: str) -> None:
        super().__init__(f"{'.'.join(('tool', 'jaxmigrate', *keys))} {message}")
        self.keys = keys


Check = Callable[[Any, tuple[str, ...]], Any]


class Key(NamedTuple):
    """A key of a table: its check, its default and an example as TOML writes them, and what it is for."""

    check: Check
    default: str
    example: str
    says: str


def table(known: Mapping[str, Key], value: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """Checks a table's values and returns them under the names that the data classes give them."""
    if not isinstance(value, dict):
        raise WrongValueError(keys, "must be a table")
    for key in value:
        if key not in known:
            import difflib

            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(sorted(known))}"
            raise WrongValueError((*keys, key), f"is not a key that jaxmigrate knows; {hint}")
    return {key.replace("-", "_"): known[key].check(item, (*keys, key)) for key, item in value.items()}


def _strings(value: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise WrongValueError(keys, "must be a list of strings")
    return tuple(value)


def _names(value: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    found = _strings(value, keys)
    for name in found:
        if not name or name != name.strip():
            raise WrongValueError(keys, f"has {name!r}, which is not a name or a pattern of names such as 'clu.*'")
    return found


def _codes(value: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return parse_codes(",".join(_strings(value, keys)))
    except ValueError as error:
        raise WrongValueError(keys, f"is wrong: {error}") from None


def _target(value: Any, keys: tuple[str, ...]) -> Version:
    if not isinstance(value, str):
        raise WrongValueError(keys, 'must be a string such as "0.7"')
    try:
        return parse_version(value)
    except ValueError as error:
        raise WrongValueError(keys, f"is wrong: {error}") from None


def _layout(value: Any, keys: tuple[str, ...]) -> Layout:
    for layout in LAYOUTS:
        if value == layout:
            return layout
    raise WrongValueError(keys, f"must be one of {', '.join(map(repr, LAYOUTS))}")


def _per_file_ignores(value: Any, keys: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise WrongValueError(keys, "must be a table from patterns to lists of codes")
    return tuple((pattern, _codes(codes, (*keys, pattern))) for pattern, codes in value.items())


def _command(value: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(value, str):
        return _strings(value, keys)
    try:
        import shlex

        return tuple(shlex.split(value))
    except ValueError as error:
        raise WrongValueError(keys, f"cannot be split into arguments: {error}") from None


def _devices(value: Any, keys: tuple[str, ...]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise WrongValueError(keys, "must be a whole number of at least 1")
    return value


def _seconds(value: Any, keys: tuple[str, ...]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise WrongValueError(keys, "must be a number of seconds above 0")
    return float(value)


def _environment(value: Any, keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise WrongValueError(keys, "must be a table of strings")
    return tuple(value.items())


def _flag(value: Any, keys: tuple[str, ...]) -> bool:
    if not isinstance(value, bool):
        raise WrongValueError(keys, "must be true or false")
    return value


def _bounds(value: Any, keys: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    found = value if isinstance(value, dict) else {"": value}
    for bound in found.values():
        if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 <= bound < float("inf"):
            raise WrongValueError(keys, "must be a number from 0 on, or a table of such numbers by dtype")
    return tuple((dtype, float(bound)) for dtype, bound in found.items())


def _verify(value: Any, keys: tuple[str, ...]) -> VerifyConfig:
    shared = table(VERIFY, value, keys)
    commands = shared.pop("commands", {})
    judged = {name: shared.pop(name) for name in ("as_compiled", "rtol", "atol") if name in shared}
    if not isinstance(commands, dict):
        raise WrongValueError((*keys, "commands"), "must be a table of tables, one for each command")
    inherited = {name: item for name, item in shared.items() if name != "command"}
    named = [
        CommandConfig(name, **(inherited | _named_command(item, (*keys, "commands", name))))
        for name, item in commands.items()
    ]
    return VerifyConfig(**shared, **judged, commands=tuple(named))


def _named_command(value: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    found = table(RUN, value, keys)
    if not found.get("command"):
        raise WrongValueError(keys, "must say which command")
    return found


def _as_it_is(value: Any, _: tuple[str, ...]) -> Any:
    return value


RUN: dict[str, Key] = {
    "command": Key(
        _command, "", '"python train.py --steps 20"', "The program to run: a string, or a list of arguments."
    ),
    "devices": Key(_devices, "8", "8", "Simulated devices of each process."),
    "processes": Key(
        _devices,
        "",
        "2",
        "JAX processes to run; without it: 1, then 2 if the program asks which process it is.",
    ),
    "timeout": Key(_seconds, "600", "1800", "Seconds after which a run is stopped."),
    "environment": Key(_environment, "", '{ SMALL = "1" }', "Environment variables, added to your own."),
}

VERIFY: dict[str, Key] = {
    **RUN,
    "as-compiled": Key(_flag, "false", "true", "Let XLA optimise; results may then differ in their last bits."),
    "rtol": Key(_bounds, "", "{ bfloat16 = 0.01 }", "A relative tolerance: one number, or one for each dtype."),
    "atol": Key(_bounds, "", "1e-6", "An absolute tolerance, in the same form."),
    "commands": Key(_as_it_is, "", "", "Several named commands; see below."),
}

KEYS: dict[str, Key] = {
    "select": Key(_codes, '["JM"]', '["JM1", "JM201"]', "Rules to report: codes, or their beginnings."),
    "ignore": Key(_codes, "[]", '["JM205"]', "Rules to leave out. The longer of two matches decides."),
    "exclude": Key(_strings, "[]", '["third_party", "*_pb2.py"]', "Files and folders to leave out, as patterns."),
    "per-file-ignores": Key(_per_file_ignores, "{}", '{ "tests/**" = ["JM3"] }', "Rules to leave out in some files."),
    "target-jax": Key(
        _target,
        "",
        '"0.7"',
        "The oldest JAX that rewritten code must run on. Without it: what the project requires, else the newest.",
    ),
    "layout": Key(
        _layout,
        '"auto"',
        '"stacked"',
        '"auto": global arrays where they are proven. "likely": also where the proof needs named assumptions. '
        '"stacked": every caller stays as it is.',
    ),
    "readers": Key(
        _names, "[]", '["clu.*", "train.save"]', "Functions that only read their arguments, and keep none of them."
    ),
    "replicates": Key(
        _names, "[]", '["utils.bcast"]', "Functions that replicate their first argument: one stacked copy per device."
    ),
    "splits": Key(
        _names,
        "[]",
        '["data.to_devices"]',
        "Functions that split their first argument, a batch, into one slice per device.",
    ),
    "unreplicates": Key(
        _names, "[]", '["utils.first"]', "Functions that take the first slice of their first argument."
    ),
    "equal": Key(
        _names,
        "[]",
        '["train.main.state", "train.step[0]"]',
        "Variables, and results of mapped functions, that are equal on all devices.",
    ),
    "never-replaced": Key(
        _names,
        "[]",
        '["__init__"]',
        "Functions that the project may monkeypatch without an effect on mapped functions.",
    ),
    "apart": Key(_names, "[]", '["tools/*.py"]', "Files that are no part of the programs that `fix` rewrites."),
    "processes": Key(
        _devices,
        "",
        "",
        "1 where the program never runs as several processes, though it asks which one it is: it makes the code "
        "shorter, and wrong under several. 2 or more where it runs as several, though no file asks which one it is.",
    ),
    "verify": Key(_verify, "{}", "", "How `verify` and `fix --verify` run the program; see below."),
}
