"""The variables of one call of a function."""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxmigrate.flow.variance.lattice import Var
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode


@dataclass(slots=True, eq=False)
class Frame:
    """What names hold while a function runs; `parent` is the frame of the function that it was made in."""

    module: Module
    node: FunctionNode | None
    parent: Frame | None = None
    names: dict[str, Var] = field(default_factory=dict)
