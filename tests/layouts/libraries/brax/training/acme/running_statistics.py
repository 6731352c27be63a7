"""The mean and the deviation of all that was observed, over a mapped axis where it is told one."""

from typing import Any

import flax
import jax
import jax.numpy as jnp


@flax.struct.dataclass
class RunningStatisticsState:
    """What is known of the observations so far."""

    mean: Any
    std: Any
    count: Any
    summed_variance: Any


def init_state(spec: Any) -> RunningStatisticsState:
    """The state before any observation."""
    zeros = jnp.zeros(spec.shape, spec.dtype)
    return RunningStatisticsState(mean=zeros, std=jnp.ones_like(zeros), count=jnp.zeros(()), summed_variance=zeros)


def update(
    state: RunningStatisticsState, batch: Any, *, weights: Any = None, pmap_axis_name: str | None = None
) -> RunningStatisticsState:
    """The state after a batch."""

    def summed(x: Any) -> Any:
        return x if pmap_axis_name is None else jax.lax.psum(x, pmap_axis_name)  # type: ignore[no-untyped-call]

    weights = jnp.ones(batch.shape[:1]) if weights is None else weights
    count = state.count + summed(weights.sum())
    apart = (batch - state.mean) * weights[:, None]
    mean = state.mean + summed(apart.sum(0) / count)
    spread = state.summed_variance + summed((apart * (batch - mean)).sum(0))
    std = jnp.clip(jnp.sqrt(jnp.maximum(spread, 0) / count), 1e-6, 1e6)
    return RunningStatisticsState(mean=mean, std=std, count=count, summed_variance=spread)


def normalize(batch: Any, state: RunningStatisticsState) -> Any:
    """Observations without their mean and deviation."""
    return (batch - state.mean) / state.std
