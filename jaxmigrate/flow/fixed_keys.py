"""Networks that a training step gives a key of a fixed number: the same noise at each step, on all devices."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.drawn_streams import is_drawn_from
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.stale_keys import MEASURING, Stale, key_of
from jaxmigrate.flow.variance import AbstractValue, Reading
from jaxmigrate.flow.variance.lattice import STEP, STEPPED
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.order import reaching
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Constant, External

SEEDS = named("seed")
SPLIT = "jax.random.split"
DEEPEST = 3
# Whether a network draws nothing, by the flags that flax's examples have for that.
QUIET = {"train": False, "training": False, "is_training": False, "deterministic": True, "eval": True}


def fixed_keys(facts: Facts) -> Iterator[Stale]:
    """Draws of networks in maps that train, by keys that the map's body makes of a number that is written there."""
    seen: set[ast.expr] = set()
    for _, reading in facts.readings:
        for draw in reading.draws if trains(reading) else ():
            if not draw.name.startswith("rngs") or draw.node in seen or draw.module.is_test:
                continue
            seen.add(draw.node)
            key = key_of(draw)
            if key is None or _is_quiet(draw.node, draw.module, facts.resolver):
                continue
            if MEASURING.search(draw.module.path.name.lower()) or not _is_fixed(key, draw.module, facts.resolver):
                continue
            if is_drawn_from(draw.name, texts_beside(draw.module, facts.resolver)):
                yield Stale(draw.module, key, draw)


def trains(reading: Reading) -> bool:
    """Whether a map gives back what gradients have changed."""
    return bool(reading.updates) or _has_marks(reading.returned, 0)


def _has_marks(value: AbstractValue, depth: int) -> bool:
    if value.updated or not value.marks.isdisjoint((STEP, STEPPED)):
        return True
    inner = (*(value.parts or ()), *(value.fields or {}).values())
    return depth < DEEPEST and any(_has_marks(one, depth + 1) for one in inner)


def _is_quiet(call: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a network is told to draw nothing, or only makes its parameters."""
    if not isinstance(call, ast.Call) or last_name(call.func).startswith("init"):
        return True
    flags = [(QUIET[one.arg], one.value) for one in call.keywords if one.arg in QUIET]
    return any(resolver.value(given, module) == Constant(quiet) for quiet, given in flags)


def _is_fixed(key: ast.expr, module: Module, resolver: Resolver, depth: int = 0) -> bool:
    """Whether a key is made of a number that is written down, and of nothing else."""
    match key:
        case ast.Subscript(value=inner, slice=ast.Constant()) if depth < DEEPEST:
            return _is_fixed(inner, module, resolver, depth + 1)
        case ast.Name() if depth < DEEPEST:
            scope = module.table.scope_of[key]
            holder = scope.lookup(key.id)
            bindings = reaching(holder.bindings[key.id], key, module) if holder is not None else []
            made = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
            own = holder is not None and holder.function() is not None
            return made is not None and own and _is_fixed(made, module, resolver, depth + 1)
        case ast.Call(args=[first], keywords=[]):
            callee = resolver.value(key.func, module)
            name = callee.name if isinstance(callee, External) else ""
            if name in SEEDS:
                return isinstance(first, ast.Constant) and isinstance(first.value, int)
            return name == SPLIT and depth < DEEPEST and _is_fixed(first, module, resolver, depth + 1)
    return False
