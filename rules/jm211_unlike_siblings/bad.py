import jax
import jax.numpy as jnp


def step(w, x, y):
    def loss_fn(w):
        error = x @ w - y
        return (error**2).mean(), (jnp.abs(error).mean(), jnp.max(error))

    (loss, (mae, worst)), grads = jax.value_and_grad(loss_fn, has_aux=True)(w)
    grads = jax.lax.pmean(grads, "i")
    loss = jax.lax.pmean(loss, "i")
    worst_error = jax.lax.pmax(worst, "i")  # JM211
    return w - 0.1 * grads, (loss, mae, worst_error)


def main():
    x = jnp.arange(16.0).reshape(8, 2, 1)
    _, (loss, mae, worst) = jax.pmap(step, axis_name="i")(jnp.ones((8, 1)), x, jnp.zeros((8, 2)))
    print(loss[1], mae[1], worst[1])


if __name__ == "__main__":
    main()
