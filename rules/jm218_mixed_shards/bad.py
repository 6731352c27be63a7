import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def loss_fn(w, x):
    return jnp.sum((x @ w) ** 2)


def gradient(w, x):
    return jax.lax.pmean(jax.grad(loss_fn)(w, x), "model")  # JM218


mesh = Mesh(jax.devices()[:2], ("model",))
columns = P(None, "model")
p_gradient = jax.jit(
    jax.shard_map(gradient, mesh=mesh, in_specs=(columns, P()), out_specs=columns, check_vma=False)
)

if __name__ == "__main__":
    w, x = jnp.array([[1.0, 3.0]]), jnp.ones((1, 1))
    print("gradient", jax.grad(loss_fn)(w, x), "as reduced", p_gradient(w, x))
