"""A tuple whose `__new__` scales what it is made of by its first axis, which stacked arrays have more of."""
import jax
import jax.numpy as jnp
import numpy as np


class Scaled(tuple):
    def __new__(cls, *parts):
        return super().__new__(cls, [part / part.shape[0] for part in parts])


jax.tree_util.register_pytree_node(Scaled, lambda s: (tuple(s), None), lambda _, parts: tuple.__new__(Scaled, parts))


def apply_to_parts(fn, parts):
    return type(parts)(*[fn(part) for part in parts])


def shard(x):
    return jnp.reshape(x, (jax.local_device_count(), -1) + x.shape[1:])


p_sum = jax.pmap(lambda s: jax.lax.psum(s[0].sum() + s[1].max(), "batch"), axis_name="batch")
batch = Scaled(np.arange(48, dtype=np.float32).reshape(16, 3), np.ones((16, 1), np.float32))
RESULT = float(p_sum(apply_to_parts(lambda r: shard(r), batch))[0])
