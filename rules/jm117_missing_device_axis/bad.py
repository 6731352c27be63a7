import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState


def step(state, x):
    grads = jax.lax.pmean(jax.grad(lambda p: state.apply_fn(p, x).mean())(state.params), "i")
    return state.apply_gradients(grads=grads)


def main():
    model = nn.Dense(3)
    params = model.init(jax.random.PRNGKey(0), jnp.ones((1, 2)))
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(0.1))
    p_step = jax.pmap(step, axis_name="i")
    state = p_step(state, jnp.ones((8, 4, 2)))  # JM117
    print(state.step)


if __name__ == "__main__":
    main()
