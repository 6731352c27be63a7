"""What the newest JAX has: the names of its modules, kept as data, since lint and fix never import JAX."""

from __future__ import annotations

from functools import cache

from jaxmigrate.program.tables import table_text

UNREAD = " * "  # a module of which only the name is known


@cache
def _text() -> str:
    return table_text("jax_names.txt")


@cache
def _modules() -> dict[str, str]:
    lines = [line.partition(" ") for line in _text().splitlines() if not line.startswith("#")]
    return {module: f" {names} " for module, _, names in lines}


@cache
def _packages() -> frozenset[str]:
    """What has modules below it."""
    return frozenset(module[:end] for module in _modules() for end, c in enumerate(module) if c == ".")


@cache
def _last_names() -> frozenset[str]:
    return frozenset(module.rpartition(".")[2] for module in _modules())


@cache
def newest_jax() -> str:
    """The release that the names are of."""
    return _text().split(maxsplit=7)[5]


def missing(dotted: str) -> str:
    """The part of a dotted name up to the first that the newest JAX lacks; empty where it has all, or none can tell."""
    parts = dotted.split(".")
    for count in range(1, len(parts)):
        module, name = ".".join(parts[:count]), parts[count]
        if f"{module}.{name}" in _modules() or f"{module}.{name}" in _packages():
            continue
        known = _modules().get(module)
        if known in (None, UNREAD) or f" {name} " in known or name.startswith("_"):
            return ""
        if module.startswith("jax._src.") and name in _last_names():  # a module that a private one imports whole
            return ""
        return f"{module}.{name}"
    return ""
