import jax

DEVICES = jax.devices()
