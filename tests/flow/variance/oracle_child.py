"""Runs the bodies of a module on 8 simulated devices, and asks JAX's own check what varies; prints JSON.

    python oracle_child.py MODULE.py SEED...

For each body: `differs`, whether the devices' values of each output are unlike bitwise; `varies`, what check_vma says
of each, or null with `error` where it refuses the body.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

SPECS = (P("i"), P(), P())  # type: ignore[no-untyped-call]
Body = Callable[[Any, Any, Any], tuple[Any, ...]]


def inputs() -> tuple[Any, Any, Any]:
    """A row for each device, the shared parameters, and a shared key."""
    rng = np.random.default_rng(7)
    return (
        jnp.asarray(rng.normal(size=(8, 4)), jnp.float32),
        jnp.asarray(rng.normal(size=4), jnp.float32),
        jax.random.PRNGKey(3),
    )


def run(bodies: list[Body], mesh: Mesh) -> list[list[bool]]:
    """Whether each output of each body differs between devices."""

    def together(x: Any, p: Any, key: Any) -> list[list[Any]]:
        outputs = [body(x[0], p, key) for body in bodies]  # jaxmigrate: ignore[JM205] - one key for all on purpose
        return [[jnp.asarray(v)[None] for v in row] for row in outputs]

    mapped = jax.shard_map(together, mesh=mesh, in_specs=SPECS, out_specs=SPECS[0], check_vma=False)
    outputs = jax.jit(mapped)(*inputs())
    return [[_differs(np.asarray(v)) for v in row] for row in outputs]


def _differs(rows: Any) -> bool:
    return any(row.tobytes() != rows[0].tobytes() for row in rows)


def checked(body: Body, mesh: Mesh) -> dict[str, Any]:
    """What JAX's check says of each output of a body."""
    found: list[bool] = []

    def watched(x: Any, p: Any, key: Any) -> Any:
        outputs = body(x[0], p, key)
        found.extend(varies(v) for v in outputs)
        return x

    mapped = jax.shard_map(watched, mesh=mesh, in_specs=SPECS, out_specs=SPECS[0], check_vma=True)
    try:
        jax.eval_shape(mapped, *inputs())
    except Exception as error:  # noqa: BLE001 - whatever it is, JAX refuses the body, and the report says how
        return {"varies": None, "error": f"{type(error).__name__}: {error}"[:200]}
    return {"varies": found}


def varies(value: Any) -> bool:
    """What a value's type says of the axis; the attribute was called otherwise before jax 0.10."""
    kind = jax.typeof(value)
    axes = kind.manual_axis_type.varying if hasattr(kind, "manual_axis_type") else kind.vma
    return "i" in axes


def main(path: str, seeds: list[int]) -> None:
    """Runs the bodies of these seeds and prints what was found, by seed."""
    spec = importlib.util.spec_from_file_location("bodies", Path(path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    mesh = Mesh(jax.devices(), ("i",))
    bodies = [getattr(module, f"body_{seed}") for seed in seeds]
    differing = [row for start in range(0, len(bodies), 25) for row in run(bodies[start : start + 25], mesh)]
    found = {
        seed: {"differs": row, **checked(body, mesh)} for seed, body, row in zip(seeds, bodies, differing, strict=True)
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], [int(seed) for seed in sys.argv[2:]])
