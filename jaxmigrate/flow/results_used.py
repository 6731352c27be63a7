"""What calls of shard_maps give, and how many things the code after them takes that for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.flow.counts import entries
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.mapped_calls import ShardCall
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import Argument
from jaxmigrate.terminal import plural

# What arrays have and tuples do not.
OF_ARRAYS = frozenset(
    {"shape", "dtype", "ndim", "astype", "reshape", "transpose", "swapaxes", "sum", "mean", "max", "min", "sharding"}
    | {"squeeze", "ravel", "flatten", "T", "at"}
)


def unlike_calls(facts: Facts) -> Iterator[tuple[Argument, str]]:
    """The specs of a shard_map that do not agree with how it is called, and what is wrong with them.

    Whatever is mapped: another number of arguments than `in_specs` has, of names on the left than `out_specs` has, or a
    tuple of specs where the result is used as one array.
    """
    for one in facts.shard_calls:
        ins, outs = argument(one.made.arguments, 2, "in_specs"), argument(one.made.arguments, 3, "out_specs")
        if ins is not None and not one.call.keywords and not any(isinstance(a, ast.Starred) for a in one.call.args):
            count = _count(ins, facts)
            if count is not None and count != len(one.call.args):
                given = f"{len(one.call.args)} are given" if len(one.call.args) != 1 else "1 is given"
                yield ins, f"in_specs is for {plural(count, 'argument')}, but {given}"
        count = _count(outs, facts) if outs is not None else None
        if outs is not None and count is not None:
            yield from ((outs, told) for told in _of_result(one, count))


def _count(given: Argument, facts: Facts) -> int | None:
    return entries(given.expression, given.module, facts.resolver) if given.expression is not None else None


def _of_result(one: ShardCall, count: int) -> Iterator[str]:
    match one.module.table.parents.get(one.call):
        case ast.Assign(targets=[ast.Tuple(elts=names)]):
            if count != len(names) and not any(isinstance(name, ast.Starred) for name in names):
                yield f"out_specs is for {plural(count, 'result')}, but {len(names)} are taken"
        case ast.Assign(targets=[ast.Name() as name]) as statement:
            if any(_is_array(node, one.module) for node in _reads(name, statement, one.module)):
                yield f"out_specs is a tuple of {count}, but the result is used as one array"


def _reads(name: ast.Name, statement: ast.stmt, module: Module) -> Iterator[ast.Name]:
    """The places that read what a statement assigns to a name, and nothing else."""
    for node in module.table.named.get(name.id, ()):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            binding = only_binding(node, module)
            if binding is not None and module.table.statement_of(binding.node) is statement:
                yield node


def _is_array(node: ast.Name, module: Module) -> bool:
    parent = module.table.parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr in OF_ARRAYS
