"""One file of a rewrite: what was decided of it, and what is written in it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jaxmigrate.flow.layout.causes import Reason
from jaxmigrate.migrate.aliases import Aliased
from jaxmigrate.migrate.decide import Decision
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import Operation


@dataclass(slots=True, eq=False)
class FileWork:
    """One file with what was decided of it; `ids` name its sites in marks, `aliased` are those under aliases of pmap.

    After it is written: its operations, the sites that show their own shard_map, and what failed to be written with
    global arrays.
    """

    module: Module
    decisions: Sequence[Decision]
    ids: Mapping[ast.expr, str]
    aliased: Sequence[Aliased] = ()
    operations: list[Operation] = field(default_factory=list)
    direct: set[ast.expr] = field(default_factory=set)
    failed: dict[ast.expr, Reason] = field(default_factory=dict)
