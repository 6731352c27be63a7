"""The first slice of each array, on the host."""

from typing import Any

import jax
from flax import jax_utils


def unreplicate_and_get(x: Any) -> Any:
    """The first device's slices, as arrays of numpy's."""
    return jax.device_get(jax_utils.unreplicate(x))  # type: ignore[no-untyped-call]
