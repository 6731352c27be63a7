"""Settings are put on objects by computed names, and a module is asked for some: no module's variable changes."""
import argparse
import importlib

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

DEVICES = jax.local_devices()


def read(args, name):
    module = importlib.import_module(name)
    for key in ("sep", "linesep") if hasattr(module, "sep") else ():
        setattr(args, key, getattr(module, key))
    return args


def step(w, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grads, "i")


args = read(argparse.Namespace(), "os")
p_step = jax.pmap(step, axis_name="i", devices=DEVICES)  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.ones(3), DEVICES)
for i in range(2):
    x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
    w = p_step(w, x.reshape(jax.local_device_count(), -1, 3))
RESULT = {"w": jax_utils.unreplicate(w), "sep": args.sep}
