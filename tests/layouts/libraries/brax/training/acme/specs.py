"""What arrays a program takes."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Array:
    """The shape and the type of one array."""

    shape: tuple[int, ...]
    dtype: Any
