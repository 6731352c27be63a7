"""A body that sums, indexes and measures its block: the block of a stacked array has no device axis in pmap."""
import jax
import jax.numpy as jnp
import numpy as np


def body(x):
    return {"shape": jnp.array(x.shape), "ndim": x.ndim, "sum": x.sum(0), "first": x[0], "last": x[-1], "t": x.T.reshape(-1)}


p_body = jax.pmap(body)  # careless: p_body = sharded(body, P("batch"), P("batch"))
x = np.arange(48, dtype=np.float32).reshape(8, 3, 2)
RESULT = p_body(x)
