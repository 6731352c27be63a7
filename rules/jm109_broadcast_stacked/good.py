import jax
import jax.numpy as jnp


def start(seed):
    return {"w": jnp.full(3, 1.0) + 0 * seed}


def step(state, x):
    return {"w": state["w"] + jax.lax.pmean(x, "i")}


def main():
    p_step = jax.pmap(step, axis_name="i", in_axes=(0, 0))
    state = jax.pmap(start)(jnp.arange(8.0))
    state = p_step(state, jnp.arange(8.0))
    print(state["w"].shape)


if __name__ == "__main__":
    main()
