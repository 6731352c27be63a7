import jax
import jax.numpy as jnp


def loss_fn(w, x):
    return jax.lax.psum((w - x) ** 2, "i")


def gradient(w, x):
    return jax.lax.psum(jax.grad(loss_fn)(w, x), "i")  # JM203


p_gradient = jax.pmap(gradient, axis_name="i", in_axes=(None, 0))
p_loss = jax.pmap(loss_fn, axis_name="i", in_axes=(None, 0))

if __name__ == "__main__":
    x = jnp.ones(8)
    differences = (p_loss(0.5, x)[0] - p_loss(-0.5, x)[0]) / 1.0
    print("by differences", differences, "by psum", p_gradient(0.0, x)[0])
