"""Parameters made on the devices by a mapped init: from one key they are equal, from split keys they are not."""
import jax
import jax.numpy as jnp
import numpy as np


def init(key):
    return {"w": jax.random.normal(key, (3,)), "b": jnp.zeros(())}


p_init = jax.pmap(init)
n = jax.local_device_count()
same = p_init(jnp.stack([jax.random.PRNGKey(0)] * n))
ensemble = p_init(jax.random.split(jax.random.PRNGKey(0), n))
p_predict = jax.pmap(lambda p, x: x @ p["w"] + p["b"])
x = np.sin(np.arange(48, dtype=np.float32)).reshape(n, 2, 3)
RESULT = {"same": p_predict(same, x), "ensemble": p_predict(ensemble, x), "w": ensemble["w"].std(0)}
