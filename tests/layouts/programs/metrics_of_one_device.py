"""Metrics of clu's that are each device's own, or gathered over an axis of a vmap, or merged by what tells devices apart."""
import flax
import jax
import jax.numpy as jnp
import numpy as np
from clu import metrics
from flax import jax_utils
from flax.training.common_utils import shard


@flax.struct.dataclass
class Own(metrics.Collection):
    loss: metrics.Average


@flax.struct.dataclass
class Weighted(metrics.Collection):
    loss: metrics.Average

    def merge(self, other):
        weight = 1.0 + jax.lax.axis_index("batch")
        return self.replace(loss=self.loss.replace(total=self.loss.total + weight * other.loss.total))


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    single = Own.single_from_model_output(loss=loss)
    rows = jax.vmap(lambda row: Own.gather_from_model_output(axis_name="rows", loss=row @ w), axis_name="rows")(x)
    told = Weighted.gather_from_model_output(loss=loss)
    return w - 0.1 * jax.lax.pmean(grad, "batch"), single, rows, told


p_step = jax.pmap(step, axis_name="batch")


def main():
    w = jax_utils.replicate(jnp.ones(3))
    w, single, rows, told = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)))
    return {
        "w": jax_utils.unreplicate(w),
        "single": single.loss.total[3],  # careless: "single": single.loss.total[0],
        "rows": rows.loss.total[5],
        "told": told.loss.total[6],
    }


RESULT = main()
