"""Which values vary over a mapped axis: a three-valued reading of the body of a mapped function."""

from __future__ import annotations

from jaxmigrate.flow.variance.lattice import EQUAL, MAY, OTHERS, Fields, Level, Var, dict_of, tuple_of
from jaxmigrate.flow.variance.reader import Divergence, Reading, read

__all__ = ["EQUAL", "MAY", "OTHERS", "Divergence", "Fields", "Level", "Reading", "Var", "dict_of", "read", "tuple_of"]
