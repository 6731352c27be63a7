# mypy: ignore-errors
"""What a rewrite puts in the place of jax.pmap, for the programs beside it."""

import functools

import jax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def stacked_map(f, axis_name="i", *, donate_argnums=(), static_broadcasted_argnums=()):
    static = {static_broadcasted_argnums} if isinstance(static_broadcasted_argnums, int) else set()

    @functools.wraps(f)
    def mapped(*args, **kwargs):
        arrays = {number: arg for number, arg in enumerate(args) if number not in static}

        def block(arrays, kwargs):
            arrays, kwargs = jax.tree.map(lambda x: jax.lax.squeeze(x, (0,)), (arrays, kwargs))
            result = f(*(arrays.get(number, arg) for number, arg in enumerate(args)), **kwargs)
            return jax.tree.map(lambda x: jax.lax.expand_dims(x, (0,)), result)

        n = jax.tree.leaves((arrays, kwargs))[0].shape[0]
        mesh = Mesh(jax.devices()[:n], (axis_name,))
        call = jax.shard_map(block, mesh=mesh, in_specs=P(axis_name), out_specs=P(axis_name), check_vma=False)
        return call(arrays, kwargs)

    jitted = jax.jit(mapped, donate_argnums=donate_argnums, static_argnums=tuple(static))
    jitted.__wrapped__ = f
    return jitted
