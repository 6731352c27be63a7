"""Calls of maps that give back what they are given.

Programs call one such map with everything, parameters, batches and keys. So each of its calls is an operation on what
that call is given, rather than a call of a mapped function whose arguments share a layout.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import identities, operations
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.values import Abstract


def call(it: Interpreter, site: ast.expr, given: Given, node: ast.expr, frame: Frame) -> Abstract | None:
    """What such a map gives: what it is given; None where the site, or the call, is another one."""
    alone = len(given.positional) == 1 and not given.named and not given.open
    if not (alone and isinstance(node, ast.Call) and len(node.args) == 1):
        return None
    if not identities.site_gives_back(it.sites[site], it.resolver):
        return None
    return operations.put(it, given.positional[0], node, node.args[0], frame)
