import jax
import jax.numpy as jnp
from flax import jax_utils, linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(use_running_average=False, momentum=0.0, use_scale=False, use_bias=False)(x)


net = Net()


def train_step(variables, x):
    y, new = net.apply(variables, x, mutable=["batch_stats"])
    return {**variables, "batch_stats": new["batch_stats"]}, jax.lax.pmean(jnp.sum(y), "batch")


p_train_step = jax.pmap(train_step, axis_name="batch")
average = jax.pmap(lambda batch_stats: jax.lax.pmean(batch_stats, "batch"), "batch")


def main():
    x = jnp.arange(8.0).reshape(8, 1, 1)
    variables = jax_utils.replicate(net.init(jax.random.PRNGKey(0), x[0]))
    variables, _ = p_train_step(variables, x)
    variables = {**variables, "batch_stats": average(variables["batch_stats"])}
    saved = jax_utils.unreplicate(variables)
    print("the mean that is saved:", saved["batch_stats"]["BatchNorm_0"]["mean"][0])


if __name__ == "__main__":
    main()
