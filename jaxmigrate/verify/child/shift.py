"""Whether all numbers of an argument are off by the same, as where the host adds another constant.

Of equal results, the same host code computes equal arguments, and other code the same but for roundings. Those have
either sign; where numbers share one, as logarithms do that are normalised together, the run of the original with moved
arguments shows it, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

# Fewer numbers than this may have one sign by chance.
_FEWEST = 8
# How far differences may be spread around their mean, as a part of it, to be one constant.
_SPREAD = 0.1
# A constant is so many last places of the typical number, and so many times what the other run shows.
_LAST_PLACES = 16.0
_TIMES = 4.0


def is_shifted(original: Array, rewritten: Array, moved: Array, eps: float) -> bool:
    """Whether a constant lies between two arrays that rounding does not explain, by the run with `moved` arguments."""
    apart = (rewritten - original).reshape(-1)
    # What the host sets anew, as a part that was empty, is the same on both sides.
    off = apart != 0
    if original.dtype.kind == "c" or np.count_nonzero(off) < max(_FEWEST, original.size / 2):
        return False
    apart, original, noise = apart[off], original.reshape(-1)[off], (moved - original).reshape(-1)[off]
    constant = abs(float(np.mean(apart)))
    if not np.isfinite(constant) or not np.isfinite(noise).all() or float(np.std(apart)) > _SPREAD * constant:
        return False
    typical = float(np.median(np.abs(original)))
    shared = abs(float(np.mean(noise))) + float(np.std(noise)) / float(np.sqrt(noise.size))
    return constant > max(_LAST_PLACES * eps * typical, _TIMES * shared)
