"""Loops of JAX: their bodies are followed with what the first round is given."""

from __future__ import annotations

import ast

from jaxmigrate.flow.blocks.block import Block, unknown
from jaxmigrate.flow.blocks.evidence import called
from jaxmigrate.flow.blocks.inside import Inside
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.library import valued

CARRIES = {name: int(position) for name, position in valued("carry").items()}  # the body stands before it
COUNTED = "jax.lax.fori_loop"  # whose body is passed the number of the round first


def of_loop(it: Inside, node: ast.Call, name: str) -> Block | None:
    """What a loop gives back: as many dimensions as it starts from."""
    arguments, place = call_arguments(node, it.module), CARRIES[name]
    body, start = argument(arguments, place - 1, "body_fun", "f"), argument(arguments, place, "init_val", "init")
    values = it.resolver.argument_values(body) if body is not None else ()
    function = called(values[0], it.resolver) if len(values) == 1 else None
    if function is None or start is None or start.expression is None or start.module is not it.module:
        return None
    names, first = function.passed_names(), int(name == COUNTED)
    if len(names) > first:
        rows = argument(arguments, place + 1, "xs") if not first and len(names) > 1 else None
        passed = {names[first]: start.expression}
        of_rows = {names[1]: rows.expression} if rows is not None and rows.expression is not None else {}
        it.enter(function, node, passed, of_rows)
    found = it.block(start.expression)
    return unknown(len(found.dims)) if found is not None and found.sure else None


def row(block: Block | None) -> Block | None:
    """What a loop takes of an array in each round."""
    return block._replace(dims=block.dims[1:]) if block is not None and block.dims else None
