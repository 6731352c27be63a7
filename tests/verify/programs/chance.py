# mypy: ignore-errors
"""A program that never does the same twice, and a site in it that does."""

import os

import jax
import jax.numpy as jnp

scale = jax.pmap(lambda x: x * 2)
steady = jax.pmap(lambda x: x + 1)

chance = int.from_bytes(os.urandom(3), "big") + 1
scale(jnp.ones((jax.device_count(), 2)) * chance)
steady(jnp.ones((jax.device_count(), 2)))
