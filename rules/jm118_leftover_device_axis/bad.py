import jax
import jax.numpy as jnp
from flax import jax_utils


def step(state, x):
    return {"w": state["w"] + jax.lax.pmean(x, "i")}, jax.lax.pmean(x, "i")


def main():
    p_step = jax.pmap(step, axis_name="i")
    state = jax_utils.replicate({"w": jnp.zeros(3)})
    state, loss = p_step(state, jnp.arange(8.0))
    state = jax_utils.replicate(state)  # JM118
    print(state["w"].shape)
    print(f"{loss:.3f}")  # JM118


if __name__ == "__main__":
    main()
