import jax.numpy as jnp
import numpy as np
import pytest
from helpers import get_first, replicate, split
from main import step


@pytest.mark.slow
def test_step():
    w = step(replicate(jnp.ones(3)), split(np.ones((16, 3), np.float32)))
    assert get_first(w).shape == (3,)


@pytest.mark.parametrize("value", [1.0, 2.0])
def test_value(value):
    w = step(replicate(jnp.full(3, value)), split(np.ones((16, 3), np.float32)))
    assert get_first(w).shape == (3,)
