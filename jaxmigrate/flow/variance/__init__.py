"""Which values vary over a mapped axis: a three-valued reading of the body of a mapped function."""

from __future__ import annotations

from jaxmigrate.flow.variance.engine import from_outside, introduces_variance, loaded_beside, read
from jaxmigrate.flow.variance.lattice import EQUAL, MAY, OTHERS, AbstractValue, Fields, Level, dict_of, tuple_of
from jaxmigrate.flow.variance.mode import Mode
from jaxmigrate.flow.variance.summary import Divergence, Draw, Reading, Reduction

__all__ = [
    "EQUAL",
    "MAY",
    "OTHERS",
    "AbstractValue",
    "Divergence",
    "Draw",
    "Fields",
    "Level",
    "Mode",
    "Reading",
    "Reduction",
    "dict_of",
    "from_outside",
    "introduces_variance",
    "loaded_beside",
    "read",
    "tuple_of",
]
