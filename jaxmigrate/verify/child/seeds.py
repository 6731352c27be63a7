"""Seeds NumPy's global generator when the program imports it, so that unseeded programs repeat themselves."""

from __future__ import annotations

import sys

from .imported import when_imported

_MODULE = "numpy.random"


def seed_numpy_when_imported(seed: int) -> None:
    """Seed `numpy.random` as soon as it is there."""
    if _MODULE in sys.modules:
        sys.modules[_MODULE].__dict__["seed"](seed)
    else:
        when_imported([_MODULE], lambda module: module.__dict__["seed"](seed))
