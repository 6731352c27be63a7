import jax
import jax.numpy as jnp
from flax import jax_utils, serialization


def step(state, x):
    return {"w": state["w"] + jax.lax.pmean(x, "i")}


def main():
    p_step = jax.pmap(step, axis_name="i")
    state = jax_utils.replicate({"w": jnp.zeros(3)})
    state = p_step(state, jnp.arange(8.0))
    saved = serialization.to_bytes(state)  # JM508
    print(serialization.msgpack_restore(saved)["w"].shape)


if __name__ == "__main__":
    main()
