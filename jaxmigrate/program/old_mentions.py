"""Whether a text can use a name of JAX that has changed, or that JAX lacks, told without parsing it.

Most files use none, and parsing them only to find that out would be most of the work of a run. Every use that imports
alone lead to is seen; names that are broken by parentheses or comments, `(jax).tree_map`, are not.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from jaxmigrate.program.combined import canonical
from jaxmigrate.program.jax_names import missing
from jaxmigrate.program.modules import ALWAYS_EXTERNAL
from jaxmigrate.program.old_names import old_names

_LOADED = frozenset(
    f"jax{rest}" for rest in ("", ".numpy", ".lax", ".tree_util", ".random", ".nn", ".scipy.linalg", ".sharding")
)
_HOMES = frozenset(
    {
        "jax.experimental",
        "jax.ops",
        "jax.interpreters",
        "jax.lib",
        "jax.extend",
        "jaxlib",
        "jaxlib.xla_extension",
        "equinox",
        "objax",
        "flax",
        "flax.nnx",
        "flax.jax_utils",
    }
)
_OWNERS = ("jax", "jaxlib", "flax", "equinox", "objax")
_FOREIGN = (frozenset(sys.stdlib_module_names) | ALWAYS_EXTERNAL | {"tensorflow", "torch"}) - frozenset(_OWNERS)
_GAP = r"(?:[ \t]|\\\r?\n)*"
_IMPORT = re.compile(rf"import\b{_GAP}(\((?:[^)#]|#[^\n]*+)*+\)|(?:\\\r?\n|[^\n#;])*)")
_FROM = re.compile(rf"{_GAP}([\w.]*(?:{_GAP}\.+)?){_GAP}\bmorf(?!\w)")  # backwards
_IMPORTED = re.compile(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")
_COMMENT = re.compile(r"#[^\n]*")
_UNUSUAL = re.compile(r".*[^_]_+[^_]|.+[A-Z]")
_TAIL = re.compile(r"(?:[\s\\]*\.[\s\\]*\w+)+")
_WORD = re.compile(r"\w+")
_SELDOM = 8
_FARTHEST = 200  # characters before `import` in which its statement begins


class Mentions(NamedTuple):
    """Whether a text can use a name of the table of old names, and one that the newest JAX lacks."""

    old: bool
    lacking: bool


class _Import(NamedTuple):
    """A name that an import binds, and what for: a dotted name, empty for a module of the program's own package."""

    local: str
    full: str


def may_use_old_names(text: str) -> bool:
    """Whether a text has what it cannot use any old name without; cheap, and true of few texts that use none."""
    return mentions(text).old


@lru_cache(maxsize=512)  # of the modules of a piece, each of which several rules ask about
def mentions(text: str) -> Mentions:
    """What a text's imports and the dotted names that begin at one can stand for."""
    found: dict[str, None] = {}
    bound: dict[str, list[str]] = {}
    near = False
    for local, full in _imports(text):
        if full.startswith(_OWNERS):
            found[full] = None
            if full not in bound.setdefault(local, []):
                bound[local].append(full)
        elif not near and not _is_foreign(full):
            near = full.rpartition(".")[2] in _words() or _has_unusual(local, text)
    for local, names in bound.items():
        for below in set(_tails(local, text)) if local else ():
            found |= dict.fromkeys(name + re.sub(r"[\s\\]", "", below) for name in names)
    judged = [_judged(full) for full in found]
    return Mentions(near or any(one.old for one in judged), any(one.lacking for one in judged))


def _tails(local: str, text: str) -> Iterable[str]:
    """What stands behind a name wherever it begins a dotted one; where it stands seldom, no pattern is made for it."""
    return dotted(local).findall(text) if text.count(local) > _SELDOM else tails_of_few(local, text)


def tails_of_few(local: str, text: str) -> Iterator[str]:
    """What the pattern finds; to make one costs more than this where a name stands seldom."""
    at = text.find(local)
    while at >= 0:
        end = at + len(local)
        apart = at == 0 or not (
            text[at - 1].isalnum() or text[at - 1] in "_." or text.startswith("://", max(0, at - 3))
        )
        found = _TAIL.match(text, end) if apart else None
        if found is not None:
            yield found[0]
        at = text.find(local, at + 1 if found is None else found.end())


@lru_cache(maxsize=1_000)
def dotted(local: str) -> re.Pattern[str]:
    """What stands behind a name that begins a dotted one: behind no dot, no letter and no `https://`."""
    local = re.escape(local)
    return re.compile(rf"{local}(?<![\w.]{local})(?<!://{local})((?:[\s\\]*\.[\s\\]*\w+)+)")


@lru_cache(maxsize=10_000)
def _judged(full: str) -> Mentions:
    parts = full.split(".")
    rows = (canonical(".".join(parts[:n])) in old_names() for n in range(2, len(parts) + 1))
    old = parts[-1] == "*" or canonical(full) in _first_names() or any(rows)
    return Mentions(old, parts[0] == "jax" and bool(missing(full)))


def _has_unusual(local: str, text: str) -> bool:
    """Whether one of the old names that are no words of every program stands behind a name and a dot."""
    dotted, at = f"{local}.", text.find(f"{local}.")
    while at >= 0:
        found = _WORD.match(text, at + len(dotted))
        if found is not None and found[0] in _words():
            return True
        at = text.find(dotted, at + 1 if found is None else found.end())
    return False


def _imports(text: str) -> Iterator[_Import]:
    """What the import statements of a text bind; those in comments and strings count, too."""
    for statement in _IMPORT.finditer(text):
        source = _FROM.match(text[max(0, statement.start() - _FARTHEST) : statement.start()][::-1])
        module = re.sub(r"[\s\\]", "", source[1][::-1]) if source is not None else ""
        names = _COMMENT.sub("", statement[1]) if "#" in statement[1] else statement[1]
        for name, local in _IMPORTED.findall(names):
            if not module:
                yield _Import(local or name.partition(".")[0], name if local else name.partition(".")[0])
                if not local and "." in name:
                    yield _Import("", name)  # `import jax.experimental.maps` binds jax, and is a use by itself
            else:
                yield _Import("" if name == "*" else local or name, f"{module}.{name}")


def _is_foreign(full: str) -> bool:
    """Whether a dotted name is of a library that does not hand on names of JAX."""
    return full.partition(".")[0] in _FOREIGN


@cache
def _first_names() -> frozenset[str]:
    """The table's names as far as they can be written after an import of what JAX loads by itself."""
    found = set()
    for name in old_names():
        while name.rpartition(".")[0] not in (*_LOADED, *_HOMES):
            name = name.rpartition(".")[0]
        found.add(name)
    return frozenset(found)


@cache
def _words() -> frozenset[str]:
    """The last parts of old names that are not words of every program."""
    last = (name.rpartition(".")[2] for name in _first_names())
    return frozenset(word for word in last if _UNUSUAL.match(word))
