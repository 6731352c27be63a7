"""Truth that depends on shapes and elements: of arrays alone, in a try, and of objects that say it themselves."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct

X = np.arange(24, dtype=np.float32).reshape(8, 3) / 7


@struct.dataclass
class Rows:
    rows: jax.Array

    def __len__(self):
        return self.rows.shape[-1] - self.rows.shape[0]


def total(rows, x):
    return rows.replace(rows=rows.rows + jax.lax.psum(x, "i").sum()), jax.lax.pmax(x.max(), "i")


p_total = jax.pmap(total, axis_name="i")
rows, top = p_total(jax_utils.replicate(Rows(jnp.ones((1, 8)))), X)
RESULT = [1 if rows else 2]
try:
    RESULT.append(3 if top else 4)
except ValueError:
    RESULT.append(5)
try:
    unknown = jax_utils.replicate(jax.tree.map(jnp.asarray, np.ones(())))
    p_total(jax_utils.replicate(Rows(jnp.ones((1, 8)))), unknown * 1.0)
    RESULT.append(6 if unknown else 7)
except ValueError:
    RESULT.append(8)
RESULT += [np.asarray(rows.rows[0]), np.asarray(top[0])]
