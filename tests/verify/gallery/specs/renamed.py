"""The program with jax.shard_map."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))


@jax.jit
@functools.partial(
    jax.shard_map, mesh=mesh, in_specs=(P("data", "model"), P("model", None)), out_specs=P("data", None), check_vma=False
)
def product(x, w):
    return jax.lax.psum(x @ w, "model")


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: (product(x, w) ** 2).mean())(w)
    return w - 0.1 * grad, loss


p_step = jax.jit(
    step,
    in_shardings=(NamedSharding(mesh, P("model", None)), NamedSharding(mesh, P("data", "model"))),
    out_shardings=(NamedSharding(mesh, P("model", None)), NamedSharding(mesh, P())),
)


def main():
    rng = np.random.RandomState(0)
    w = rng.randn(8, 6).astype("f")
    for _ in range(3):
        x = rng.randn(16, 8).astype("f")
        w, loss = p_step(w, x)
        print(f"loss {float(loss):.5f} product {float(jnp.sum(product(x, w))):.5f}")


main()
