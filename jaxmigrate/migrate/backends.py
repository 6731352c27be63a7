"""Where JAX's backend runs already: code above has made an array, or has asked for the devices.

A mesh that is made there starts nothing that importing the file, or calling the function, has not started before.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from jaxmigrate.flow.layout.counts import COUNTED, LISTED
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External

DEVICES = frozenset((*COUNTED, *LISTED, "process_index", "process_count"))
STARTING = re.compile(
    r"jax\.device_put(_replicated|_sharded)?|flax\.jax_utils\.replicate"
    r"|jax\.random\.(PRNGKey|key|split|fold_in|normal|uniform|randint|bernoulli|permutation)"
    r"|jax\.numpy\.(array|asarray|zeros|ones|full|empty|arange|linspace|eye|stack|concatenate|float32|int32|bfloat16)"
)
ALWAYS = ast.Call | ast.keyword | ast.Starred | ast.Attribute | ast.Subscript | ast.BinOp | ast.UnaryOp | ast.Compare
HOLDING = ast.Tuple | ast.List | ast.Dict | ast.NamedExpr | ast.JoinedStr | ast.FormattedValue
PLAIN = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return


@dataclass(frozen=True, slots=True, eq=False)
class Backends:
    """What the code above a place has started, by the names of JAX's functions."""

    resolver: Resolver
    _starting: dict[Module, frozenset[ast.stmt]] = field(default_factory=dict)

    def run_by(self, node: ast.AST, module: Module) -> bool:
        """Whether a backend runs whenever code gets to a node: statements above it, which always run, start one."""
        starting = self._statements(module)
        return bool(starting) and any(one in starting for one in _always_before(node, module))

    def _statements(self, module: Module) -> frozenset[ast.stmt]:
        """The statements that start a backend whenever they run."""
        if module not in self._starting:
            calls = (call for call in module.table.calls if self._starts(call, module))
            self._starting[module] = frozenset(
                one for call in calls if (one := _statement_of(call, module)) is not None
            )
        return self._starting[module]

    def _starts(self, call: ast.Call, module: Module) -> bool:
        value = self.resolver.value(call.func, module)
        name = value.name if isinstance(value, External) else ""
        asks = name.startswith("jax.") and name.rpartition(".")[2] in DEVICES
        return asks or STARTING.fullmatch(name) is not None


def _statement_of(call: ast.Call, module: Module) -> ast.stmt | None:
    """The statement that evaluates a call whenever it runs, None where a condition may keep it from that."""
    node: ast.AST = call
    while True:
        above = module.table.parents.get(node)
        if isinstance(above, PLAIN) and isinstance(above, ast.stmt):
            return above
        if not isinstance(above, ALWAYS | HOLDING):
            return None
        node = above


def _always_before(node: ast.AST, module: Module) -> Iterator[ast.stmt]:
    """The statements that have run whenever a node does: those above it in its block, and above what holds that.

    Those above a function have run before it is called, too.
    """
    while (above := module.table.parents.get(node)) is not None:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(above, name, None)
            if isinstance(block, list) and node in block and not (isinstance(above, ast.Try) and name != "body"):
                yield from block[: block.index(node)]
        node = above
