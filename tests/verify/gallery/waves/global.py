"""The wave as one array of all cells, by shard_map."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

N = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("ring",))


def advance(height, speed):
    size = jax.lax.axis_size("ring")
    left = jax.lax.ppermute(height[-1:], "ring", [(i, (i + 1) % size) for i in range(size)])
    right = jax.lax.ppermute(height[:1], "ring", [(i, (i - 1) % size) for i in range(size)])
    padded = jnp.concatenate([left, height, right])
    speed = speed + 0.1 * (padded[2:] - 2 * height + padded[:-2])
    return height + 0.1 * speed, speed


def energy(height, speed):
    return jax.lax.psum(0.5 * (speed**2).sum() + 0.5 * (jnp.diff(height, axis=0) ** 2).sum(), "ring")


advance = jax.jit(jax.shard_map(advance, mesh=mesh, in_specs=P("ring"), out_specs=P("ring")))
energy = jax.jit(jax.shard_map(energy, mesh=mesh, in_specs=P("ring"), out_specs=P()))


def main():
    cells = np.linspace(0, 2 * np.pi, N * 16, endpoint=False, dtype=np.float32)
    height = np.stack([np.sin(cells), np.cos(3 * cells)], axis=-1)
    speed = np.zeros_like(height)
    for step in range(6):
        height, speed = advance(height, speed)
        print(f"step {step} energy {float(energy(height, speed)):.6f}")
    print("highest", float(np.max(height)))


main()
