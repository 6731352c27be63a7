"""Collections of metrics, gathered from all devices and then merged, as clu does it."""

from __future__ import annotations

import functools
from typing import Any

import flax
import jax
import jax.numpy as jnp


@flax.struct.dataclass
class Average:
    """A sum and a count."""

    total: jax.Array
    count: jax.Array

    @classmethod
    def from_output(cls, name: str) -> Any:
        return name

    def merge(self, other: Any) -> Any:
        return self.replace(total=self.total + other.total, count=self.count + other.count)  # type: ignore[attr-defined]

    def compute(self) -> Any:
        return self.total / self.count


class Collection:
    """Metrics by name; a class that derives from it says of which outputs they are."""

    @classmethod
    def single_from_model_output(cls, **outputs: Any) -> Any:
        made = {n: Average(jnp.sum(outputs[n]), jnp.asarray(outputs[n].size)) for n in cls.__annotations__}
        return cls(**made)

    @classmethod
    def gather_from_model_output(cls, axis_name: str = "batch", **outputs: Any) -> Any:
        return jax.lax.all_gather(cls.single_from_model_output(**outputs), axis_name=axis_name).reduce()

    def reduce(self) -> Any:
        rows = [jax.tree.map(lambda x, i=i: x[i], self) for i in range(jax.tree.leaves(self)[0].shape[0])]
        return functools.reduce(lambda one, other: one.merge(other), rows)

    def merge(self, other: Any) -> Any:
        names = type(self).__annotations__
        return type(self)(**{n: getattr(self, n).merge(getattr(other, n)) for n in names})

    def compute(self) -> Any:
        return {n: getattr(self, n).compute() for n in type(self).__annotations__}
