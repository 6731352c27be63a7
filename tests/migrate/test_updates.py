"""`jax.ops.index_update` and its kin, `tie_in` and other names that go with what stands around them."""

from __future__ import annotations

import pytest

from tests.migrate.test_old_names import fixed

CASES = {
    "arrays of JAX": (
        """
import jax
import jax.numpy as jnp
def f(x):
    z = jnp.ones(3)
    z = jax.ops.index_add(z, jax.ops.index[:, x], y=1, unique_indices=True)
    return jax.ops.index_update(z * 2, (..., 0), z.reshape(3, 1)), jax.ops.index_max(z.T, i, jax.ops.index[2])
""",
        """
import jax.numpy as jnp
def f(x):
    z = jnp.ones(3)
    z = z.at[:, x].add(1, unique_indices=True)
    return (z * 2).at[..., 0].set(z.reshape(3, 1)), z.T.at[i].max(jnp.s_[2])
""",
    ),
    "what may be none": (
        """
import jax, numpy as np
import jax.numpy as jnp
from jax.ops import index_mul as m, index
def f(a):
    b, c, d = np.ones(2), jax.lax.psum(1, 'i') * 2, jnp.ones(2)
    e = jnp.ones(2)
    def g():
        nonlocal e
        e = np.ones(2)
    a = m(a, 0, 1)
    b = m(b, 0, 1)
    c = m(c, index[0], 1)
    return m(e, 0, 1)
""",
        """
import jax, numpy as np
import jax.numpy as jnp
def f(a):
    b, c, d = np.ones(2), jax.lax.axis_size('i') * 2, jnp.ones(2)
    e = jnp.ones(2)
    def g():
        nonlocal e
        e = np.ones(2)
    a = jnp.asarray(a).at[0].multiply(1)
    b = jnp.asarray(b).at[0].multiply(1)
    c = jnp.asarray(c).at[0].multiply(1)
    return jnp.asarray(e).at[0].multiply(1)
""",
    ),
    "calls out of sight": (
        """
import jax
y = jax.ops.index_add(*args, jax.ops.index[0]), jax.ops.index_add(x, y=1, idx=2)
""",
        """
import jax
y = jax.ops.index_add(*args, jax.numpy.s_[0]), jax.ops.index_add(x, y=1, idx=2)
""",
    ),
    "ties": (
        """
from jax import lax
def f(x, m):
    m = m + 1
    m = lax.tie_in(x, m)
    if x:
        m = lax.tie_in(x, m)
    return lax.tie_in(x.pop(), m), lax.tie_in(x, y=m * 2) ** 2
""",
        """
from jax import lax
def f(x, m):
    m = m + 1
    if x:
        m = m
    return lax.tie_in(x.pop(), m), (m * 2) ** 2
""",
    ),
    "ties of names that are bound nowhere else": (
        """
from jax.lax import tie_in
def f(x):
    k = tie_in(x, k)
    return k
""",
        """
def f(x):
    k = k
    return k
""",
    ),
    "others": (
        """
import functools as ft
import jaxlib.xla_extension as xe
from jax import jit
import jax
x: xe.DeviceArray = -jax.numpy.NINF.T
f = jax.partial(jit, 2)
""",
        """
import functools as ft
from jax import jit
import jax
x: jax.Array = -(-jax.numpy.inf).T
f = ft.partial(jit, 2)
""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_goes_with_a_name(name: str) -> None:
    before, after = CASES[name]
    found, _ = fixed(before)
    assert found == after
    again, rest = fixed(after)
    assert again == after
    assert all(one.status == "left" for one in rest)
