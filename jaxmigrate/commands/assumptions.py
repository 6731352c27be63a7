"""Declarations in pyproject.toml: which nothing uses, and those that a rewrite's assumptions become."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable

from jaxmigrate.commands import Failure
from jaxmigrate.config import Config
from jaxmigrate.migrate.plan import Assumed
from jaxmigrate.program.declarations import KINDS, Declarations, Kind
from jaxmigrate.records import replace
from jaxmigrate.terminal import plural

NO_PLAIN_LIST = "not written as a list of strings in brackets: add the entries by hand"
HEADER = re.compile(r"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*jaxmigrate[ \t]*\][ \t]*(?:#[^\r\n]*)?(?=\r?$)", re.MULTILINE)


def declared_in(config: Config) -> Declarations:
    """What a project declares; its names are counted from the folder of its configuration, or else from here."""
    return config.declared or replace(config.declared, root=config.root.absolute())


def unused(config: Config, used: Collection[tuple[Kind, str]], layout: str) -> list[str]:
    """What nothing uses of what a project declares, in words; where arrays stay stacked, nothing of names counts."""
    needless = config.declared.processes and ("processes", str(config.declared.processes)) not in used
    alone = [f"{config.file}: tool.jaxmigrate.processes has no effect: it makes no map shorter"] if needless else []
    return alone + [
        f'{config.file}: nothing uses "{pattern}" of tool.jaxmigrate.{kind}'
        for kind in (KINDS if layout != "stacked" else ())
        for pattern in config.declared.of(kind)
        if (kind, pattern) not in used
    ]


def write_assumptions(config: Config, assumed: Iterable[Assumed]) -> str:
    """Adds likely assumptions to the project's pyproject.toml, each with the place where it matters; says what it did.

    Raises:
        Failure: That file cannot be changed in a way that its parser takes as meant.
    """
    file = config.file or config.root / "pyproject.toml"
    wanted: dict[str, dict[str, str]] = {}
    for one in assumed:
        if one.grade == "likely" and one.name:
            wanted.setdefault(one.key, {}).setdefault(one.name, f"{one.says} ({one.place})")
    if not wanted:
        return ""
    try:
        before = file.read_bytes().decode("utf-8") if file.exists() else ""
        after = with_declarations(before, wanted)
        file.write_bytes(after.encode("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise Failure(f"{file}: cannot write the assumptions: {error}") from error
    return f"{file}: declared {plural(sum(map(len, wanted.values())), 'assumption')}; review them before you commit"


def with_declarations(text: str, wanted: dict[str, dict[str, str]]) -> str:
    """The text of a pyproject.toml that declares more: by key, names with a comment for each.

    Raises:
        ValueError: It is written in a way that this cannot add to.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    known = tomllib.loads(text).get("tool", {}).get("jaxmigrate", {})
    after = text
    if not HEADER.search(after):
        if known:
            raise ValueError(
                "fix cannot add to tool.jaxmigrate as it is written; give it a header of its own, [tool.jaxmigrate]"
            )
        after += f"{end if after and not after.endswith(end) else ''}{end if after else ''}[tool.jaxmigrate]{end}"
    for key, names in wanted.items():
        fresh = {name: why for name, why in names.items() if name not in known.get(key, ())}
        if fresh:
            entries = "".join(f"    {_quoted(name)},  # {' '.join(why.split())}{end}" for name, why in fresh.items())
            after = _added(after, key, entries, end, key in known)
    meant = {
        **known,
        **{
            key: [*known.get(key, ()), *(n for n in names if n not in known.get(key, ()))]
            for key, names in wanted.items()
        },
    }
    if tomllib.loads(after)["tool"]["jaxmigrate"] != meant:
        raise ValueError(f"the lists of tool.jaxmigrate are {NO_PLAIN_LIST}")
    return after


def _added(text: str, key: str, entries: str, end: str, exists: bool) -> str:
    """The text with entries in the list of a key."""
    header = HEADER.search(text)
    assert header is not None
    if not exists:
        at = header.end()
        rest = text[at:]
        first = end if not rest.startswith(end) else ""
        return f"{text[:at]}{end}{key} = [{end}{entries}]{first}{rest}"
    opened = re.compile(rf"^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*=[ \t]*\[", re.MULTILINE).search(text, header.end())
    close = _closing(text, opened.end()) if opened is not None else -1
    if close < 0:
        raise ValueError(f"tool.jaxmigrate.{key} is {NO_PLAIN_LIST}")
    inside = text[opened.end() : close].rstrip() if opened is not None else ""
    bare = re.sub(r"#[^\r\n]*$", "", inside).rstrip()
    comma = "," if bare and not bare.endswith(",") else ""
    if comma and bare != inside:
        raise ValueError(f"tool.jaxmigrate.{key} ends in a comment; put a comma after its last entry")
    return (
        f"{text[: close - len(text[opened.end() : close]) + len(inside)]}{comma}{end}{entries}{text[close:]}"
        if opened
        else text
    )


def _closing(text: str, start: int) -> int:
    """Where the list that begins before a place ends; -1 where it does not."""
    for found in re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|#[^\n]*|[\[\]]").finditer(text, start):
        if found[0] == "]":
            return found.start()
        if found[0] == "[":
            return -1
    return -1


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
