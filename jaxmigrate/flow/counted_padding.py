"""Batches that are filled up for the devices, and evaluated without anything that tells the filling from the data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import calls_of, last_name

FILLING = frozenset({"pad"})
TOLD_APART = re.compile(r"mask|weight|valid|is_real|num_real|where|\[:|ignore|lengths?\b")
OF_DEVICES = re.compile(r"%\s*\(?\s*(\w+\.)*(local_device_count|device_count|num_devices|n_devices|n_dev|ndev)|%\s*n\b")
EVALUATING = re.compile("eval|test|valid|accuracy|score")


class Padded(NamedTuple):
    """A call that fills up a batch, and the map that counts what it is filled with."""

    module: Module
    call: ast.Call
    way: tuple[Step, ...]


def counted_padding(facts: Facts) -> Iterator[Padded]:
    """Calls of `pad` by what is missing to a multiple of the devices, in functions that evaluate by a map."""
    told: set[FunctionNode] = set()
    for found, reading in facts.readings if any("pad(" in module.text for module in facts.modules) else ():
        if not reading.reductions and not _gathers(found.function.node):
            continue
        if TOLD_APART.search(ast.unparse(found.function.node)):
            continue
        for run, module in facts.runs_of(found):
            function = module.table.function_of(run)
            if function is None or function in told or isinstance(function, ast.Lambda) or module.is_test:
                continue
            text = ast.unparse(function)
            names = f"{function.name.lower()} {getattr(found.function.node, 'name', '')}"
            if EVALUATING.search(names) is None or OF_DEVICES.search(text) is None or TOLD_APART.search(text):
                continue
            calls = (one for one in ast.walk(function) if isinstance(one, ast.Call))
            call = next((one for one in calls if last_name(one.func) in FILLING), None)
            if call is not None:
                told.add(function)
                yield Padded(module, call, (Step(module, run, "evaluated here"),))


def _gathers(function: FunctionNode) -> bool:
    """Whether a function gathers its metrics through an object's method, as clu's do."""
    return any(last_name(call.func).startswith("gather_from") for call in calls_of(function))
