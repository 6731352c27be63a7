"""Device 3, the last device, this process's device, and a slice of one device, of a value that varies."""
import jax
import jax.numpy as jnp
import numpy as np


def body(x):
    return x - jax.lax.pmean(x, "i"), jax.lax.pmax(x, "i")


p_body = jax.pmap(body, axis_name="i")
x = np.sin(np.arange(24, dtype=np.float32)).reshape(8, 3)
own, top = p_body(x)
RESULT = {
    "third": own[3],
    "last": own[-1],
    "process": own[jax.process_index()],
    "kept": own[:1],
    "top": top[5],
    "slice": top[0:1].shape,
    "every_other": top[::2],
    "taken": jnp.take(top, jnp.array([0, 1]), axis=0),
}
