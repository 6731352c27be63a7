"""Values on all devices, input in another thread, and checkpoints in memory."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


class SnapshotNT(NamedTuple):
    """A checkpoint."""

    id: int
    pickle_nest: dict[str, Any]


class CheckpointNT(NamedTuple):
    """The state that a thread works on, and its checkpoints."""

    active: threading.local
    history: list[SnapshotNT]


GLOBAL_CHECKPOINT_DICT: dict[str, CheckpointNT] = {}


def py_prefetch(make: Callable[[], Iterable[Any]], buffer_size: int = 5) -> Iterator[Any]:
    """The elements of what a function gives, which another thread takes out of it ahead of their use."""
    buffer: queue.Queue[Any] = queue.Queue(maxsize=buffer_size - 1)
    errors: list[Exception] = []
    end = object()

    def produce() -> None:
        try:
            for item in make():
                buffer.put(item)
        except Exception as error:  # noqa: BLE001 - raised where the elements are taken
            errors.append(error)
        finally:
            buffer.put(end)

    threading.Thread(target=produce, daemon=True).start()
    while (item := buffer.get()) is not end:
        yield item
    if errors:
        raise errors[0]


def double_buffer(elements: Iterable[Any]) -> Iterator[Any]:
    """Puts each element on the devices while the one before it is in use: row i of its arrays on device i."""
    before = None
    for element in elements:
        count = len(jax.tree.leaves(element)[0])
        rows = [jax.tree.map(lambda x, i=i: np.asarray(x)[i], element) for i in range(count)]
        put = jax.tree.map(lambda *xs: _put(list(xs)), *rows)
        if before is not None:
            yield before
        before = put
    if before is not None:
        yield before


def _put(rows: list[Any]) -> jax.Array:
    """What `jax.device_put_sharded` gives: one row on each device."""
    mesh = Mesh(jax.local_devices()[: len(rows)], ("i",))
    sharding = NamedSharding(mesh, PartitionSpec("i"))  # type: ignore[no-untyped-call]
    return jax.device_put(jnp.stack(rows), sharding)  # type: ignore[no-any-return]


def get_first(xs: Any) -> Any:
    """The first device's slices."""
    return jax.tree_util.tree_map(lambda x: x[0], xs)


def bcast_local_devices(value: Any) -> Any:
    """One slice for each device of this process."""
    return jax.tree_util.tree_map(lambda x: _put([x] * jax.local_device_count()), value)


def host_id_devices_for_rng(mode: str) -> jax.Array | None:
    """This process's number on each device, where the mode asks for it."""
    if mode.startswith("same_host"):
        return None
    return jnp.broadcast_to(jax.process_index(), (jax.local_device_count(),))


def specialize_rng_host_device(rng: jax.Array, host_id: jax.Array | None, axis_name: str, mode: str) -> jax.Array:
    """A key for the device and the process that this runs on, as the mode wants it."""
    if host_id is not None:
        rng = jax.random.fold_in(rng, host_id)
    return jax.random.fold_in(rng, jax.lax.axis_index(axis_name)) if mode.endswith("unique_device") else rng


class InMemoryCheckpointer:
    """Keeps what experiments give it, as arrays of the host."""

    def __init__(self, config: Any, mode: str) -> None:
        self._kept = config.max_checkpoints_to_keep
        del mode

    def get_experiment_state(self, ckpt_series: str) -> SimpleNamespace:
        """What a series is about: an experiment, the step that it is at, and its key."""
        series = GLOBAL_CHECKPOINT_DICT.setdefault(ckpt_series, CheckpointNT(threading.local(), []))
        if not hasattr(series.active, "state"):
            series.active.state = SimpleNamespace()
        return series.active.state  # type: ignore[no-any-return]

    def save(self, ckpt_series: str) -> None:
        """Adds to the checkpoints of a series."""
        series = GLOBAL_CHECKPOINT_DICT[ckpt_series]
        given = dict(vars(self.get_experiment_state(ckpt_series)))
        given["experiment_module"] = dict(given["experiment_module"].snapshot_state())
        nest = jax.tree.map(lambda x: jax.device_get(x) if isinstance(x, jax.Array) else x, given)
        series.history.append(SnapshotNT(len(series.history), nest))
        del series.history[: -self._kept]

    def can_be_restored(self, ckpt_series: str) -> bool:
        """Whether a series has a checkpoint."""
        return ckpt_series in GLOBAL_CHECKPOINT_DICT and bool(GLOBAL_CHECKPOINT_DICT[ckpt_series].history)

    def restore(self, ckpt_series: str) -> None:
        """Goes back to the last checkpoint of a series."""
        nest = GLOBAL_CHECKPOINT_DICT[ckpt_series].history[-1].pickle_nest
        state = self.get_experiment_state(ckpt_series)
        for key, value in vars(state).items():
            if key == "experiment_module":
                value.restore_from_snapshot(nest[key])
            else:
                setattr(state, key, nest[key])
