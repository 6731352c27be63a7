"""The shapes of a program's arrays, by running it without its numbers: which do not fit."""

from __future__ import annotations

from jaxmigrate.flow.shapes.interpreter import Interpreter, Noted
from jaxmigrate.flow.shapes.library import apply
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver

WORDS = ("shard_map", "NamedSharding", "PartitionSpec")


@once_each
def misfits(module: Module, resolver: Resolver) -> list[Noted]:
    """Where running a module is certain to come to shapes that JAX refuses."""
    if not any(word in module.text for word in WORDS):
        return []
    run = Interpreter(resolver, apply)
    run.module(module)
    return list(run.noted.values())


__all__ = ["Noted", "misfits"]
