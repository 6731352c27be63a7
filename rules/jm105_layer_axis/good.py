import flax.linen as nn
import jax
import jax.numpy as jnp


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(use_running_average=False, axis_name="batch")(x)


def train_step(variables, x):
    y, _ = Model().apply(variables, x, mutable=["batch_stats"])
    return jax.lax.pmean(y.mean(), "batch")


p_train_step = jax.pmap(train_step, axis_name="batch", in_axes=(None, 0))

if __name__ == "__main__":
    x = jnp.ones((8, 4, 3))
    print(p_train_step(Model().init(jax.random.PRNGKey(0), x[0]), x))
