"""Several processes: pmap takes and returns host-local arrays, and so does what replaces it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxmigrate.migrate import fix_files, plan_sources
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.program.declarations import Declarations
from tests.flags import UNOPTIMISED
from tests.forks import Forks
from tests.migrate.forms.covering import covering
from tests.migrate.forms.dimensions import IN_PROCESSES
from tests.migrate.forms.programs import files_of
from tests.migrate.forms.running import Program, run_in_processes
from tests.migrate.forms.running import run as run_here

PROGRAM = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import json
import numpy as np
from jax import lax


def step(params, x, scale):
    params = params - 0.1 * lax.pmean(jax.grad(lambda w: ((x @ w) ** 2).mean())(params), 'i')
    return params, lax.psum(x.sum(), 'i') * scale, lax.axis_index('i')


train = jax.pmap(step, axis_name='i', in_axes=(0, 0, None), donate_argnums=(0,))
power = jax.pmap(lambda x, n: lax.all_gather(x ** n, 'i'), axis_name='i', static_broadcasted_argnums=1)
swapped = jax.pmap(lambda x: x + lax.axis_index('k'), 'k', in_axes=1, out_axes=1)

n = jax.local_device_count()
rank = jax.process_index()
params = np.ones((n, 3, 2), np.float32)
data = np.arange(n * 15, dtype=np.float32).reshape(n, 5, 3) / 50 + rank
for _ in range(3):
    params, total, index = train(params, data, 2.0)
out = [params, total, index, power(data[:, 0], 2), swapped(data[:, 0].T)]
print('RESULT', json.dumps([np.asarray(x).tobytes().hex() for x in out] + [str(x.shape) for x in out]))
"""

SHARED = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import json
import jax.numpy as jnp
import numpy as np
from flax.training import common_utils
from jax import lax


def make_params(key, scale):
    return {"w": lax.pmean(jax.random.normal(key, (3,)) * scale, "i"), "n": jnp.zeros((), jnp.int32)}


def step(params, key, batch, rate):
    grads = lax.pmean(jax.grad(lambda w: ((batch @ w - 1) ** 2).mean())(params["w"]), "i")
    noise = jax.random.normal(key, ()) + lax.axis_index("i")
    return {"w": params["w"] - rate * grads, "n": params["n"] + 1}, noise, lax.pmean(noise, "i")


p_make = jax.pmap(make_params, axis_name="i", in_axes=(0, None), out_axes=None)
p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0, 0, None), out_axes=(None, 0, None))
p_mean = jax.pmap(lambda params, x: lax.pmean((x * params["w"]).mean(), "i"), axis_name="i", in_axes=(None, 0))


def main():
    rank, n = jax.process_index(), jax.local_device_count()
    keys = jax.random.split(jax.random.fold_in(jax.random.PRNGKey(0), rank), n)
    params = p_make(keys, 2.0)
    seen = []
    for i in range(3):
        x = np.sin(np.arange(n * 6, dtype=np.float32) + i + rank).reshape(n * 2, 3)
        params, noise, mean = p_step(params, keys, common_utils.shard(x), 0.1)
        if rank == 1:
            seen.append(float(jnp.sum(params["w"]) + mean))
        params = jax.tree.map(lambda p: p * 1, params) if i == 1 else params
    held = p_mean(params, common_utils.shard(x))[0]
    result = [np.asarray(x) for x in [*jax.tree.leaves(params), noise, mean, held]]
    print("RESULT", json.dumps([[x.tobytes().hex(), str(x.shape)] for x in result] + [seen]))


if __name__ == "__main__":
    main()
"""

RENDER = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import functools
import json
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def shown(render, rays):
    n = jax.local_device_count()
    return [render(rays.reshape(n, -1, 3) + i) for i in range(2)]


def main():
    def draw(params, key, rays):
        noise = jax.random.normal(key, rays.shape)
        return (rays + noise) @ params["w"] * params["scale"], jax.lax.all_gather(rays.sum(), "i")

    p_draw = jax.pmap(draw, axis_name="i", in_axes=(None, None, 0), donate_argnums=(2,))
    rank = jax.process_index()
    state = jax_utils.replicate({"w": jnp.arange(3.0), "scale": 2.0})
    given = [jax_utils.unreplicate(state), jax.device_put(jax.random.PRNGKey(3), jax.local_devices()[1])]
    rays = np.sin(np.arange(24, dtype=np.float32) + rank)
    result = jax.tree.map(np.asarray, shown(functools.partial(p_draw, *given), rays))
    print("RESULT", json.dumps([[x.tobytes().hex(), str(x.shape)] for x in jax.tree.leaves(result)]))


if __name__ == "__main__":
    main()
"""

FIELDS = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import json
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training import common_utils
from jax import lax


@struct.dataclass
class State:
    params: jax.Array
    stats: dict
    key: jax.Array


def step(state, batch):
    key, next_key = jax.random.split(state.key)
    noise = jax.random.normal(key, state.params.shape)
    grads = jax.grad(lambda p: ((batch @ (p - noise)) ** 2).mean())(state.params)
    stats = {"mean": 0.9 * state.stats["mean"] + 0.1 * batch.mean(0)}
    return state.replace(params=state.params - 0.1 * lax.pmean(grads, "i"), stats=stats, key=next_key), noise


def loss(state, batch):
    return lax.pmean(((batch - state.stats["mean"]) @ state.params).mean(), "i")


p_step = jax.pmap(step, axis_name="i", donate_argnums=0)
p_loss = jax.pmap(loss, axis_name="i")
average = jax.pmap(lambda tree: lax.pmean(tree, "all"), axis_name="all")


def main():
    rank, n = jax.process_index(), jax.local_device_count()
    key = jax.random.fold_in(jax.random.PRNGKey(0), rank)
    state = State(jnp.ones(3), {"mean": jnp.zeros(3)}, key)
    state = jax_utils.replicate(state).replace(key=common_utils.shard_prng_key(state.key))
    seen = []
    for i in range(3):
        x = np.sin(np.arange(n * 6, dtype=np.float32) + i + rank).reshape(n * 2, 3)
        state, noise = p_step(state, common_utils.shard(x))
        seen.append(jax.device_get(jax_utils.unreplicate(state.stats)))
        seen.append(float(noise[0].sum()))
        if i == 1:
            state = state.replace(stats=average(state.stats))
        seen.append(float(p_loss(state, common_utils.shard(x))[0]))
    seen.append(jax.device_get(jax.tree.map(lambda x: x[0], state)))
    result = [np.asarray(x) for x in jax.tree.leaves(seen)]
    print("RESULT", json.dumps([[x.tobytes().hex(), str(x.shape)] for x in result]))


if __name__ == "__main__":
    main()
"""

HOST_CALLS = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import functools
import json
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from jax import lax


def doubled(x):
    return jax.pure_callback(lambda x: np.asarray(x) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@functools.partial(jax.pmap, axis_name="i", donate_argnums=0)
def step(w, x):
    return w - 0.1 * lax.pmean(doubled(x) * w, "i"), x.sum()


def main():
    rank, n = jax.process_index(), jax.local_device_count()
    total = jax.pmap(lambda x, scale: lax.psum(doubled(x) * scale, "k"), axis_name="k", in_axes=(0, None))
    w, x = jax_utils.replicate(jnp.ones(3)), np.arange(n * 3, dtype=np.float32).reshape(n, 3) / 9 + rank
    for _ in range(2):
        w, own = step(w, x)
    found = [w, own, total(w, 2.0)]
    print("RESULT", json.dumps([np.asarray(one).tolist() for one in found]))


if __name__ == "__main__":
    main()
"""

GIVEN_DEVICES = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import json
import numpy as np
from jax import lax


class Learner:
    def __init__(self, step, devices=None):
        self.devices = devices or jax.local_devices()
        self.step = jax.pmap(step, axis_name="i", devices=self.devices)
        step = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
        self.total = step


def main():
    def step(x, scale):
        return lax.psum(x, "i") * scale

    rank, n = jax.process_index(), jax.local_device_count()
    x = np.arange(n * 3, dtype=np.float32).reshape(n, 3) + rank
    scale = np.full(n, 2.0, np.float32)
    own, all_of_them = Learner(step), Learner(step, jax.devices())
    found = [own.step(x, scale), all_of_them.step(x, scale), own.total(x)]
    print("RESULT", json.dumps([np.asarray(one).tolist() for one in found]))


if __name__ == "__main__":
    main()
"""

UNNAMED = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import json
import numpy as np
from jax import lax

split = jax.pmap(lambda key: tuple(jax.random.split(key)))


@jax.pmap
def noise(key, x):
    return x + jax.random.normal(key, x.shape)


def main():
    rank, n = jax.process_index(), jax.local_device_count()
    devices = jax.local_devices()
    scale = jax.pmap(lambda x, y: x * y, in_axes=(None, 0))
    total = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=devices)
    keys, more = split(jax.random.split(jax.random.PRNGKey(rank), n))
    x = noise(keys, np.arange(n * 3, dtype=np.float32).reshape(n, 3) + rank)
    found = [x, scale(2.0 + rank, x), more, total(x)]EVERY
    print("RESULT", json.dumps([np.asarray(one).tolist() for one in found]))


if __name__ == "__main__":
    main()
"""
EVERY = """
    every = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    found.append(every(x))"""

UNASKED = """
import json
import sys
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from jax import lax

RANK = int(sys.argv[2])


def step(params, key, batch):
    key = jax.random.fold_in(key, lax.axis_index("i"))
    grads = jax.grad(lambda p: ((batch @ (p - jax.random.normal(key, p.shape))) ** 2).mean())(params)
    return params - 0.1 * lax.pmean(grads, "i")


p_step = jax.pmap(step, axis_name="i")
GATHER


def train(n):
    params, keys = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(jax.random.PRNGKey(0))
    for i in range(3):
        x = np.sin(np.arange(n * 6, dtype=np.float32) + i + RANK).reshape(n * 2, 3)
        params = p_step(params, keys, shard(x))
    return jax_utils.unreplicate(params)


def main():
    n = jax.local_device_count()
    found = [MAIN]
    print("RESULT", json.dumps([np.asarray(x).tolist() for x in found]))


if __name__ == "__main__":
    main()
"""
OWN_ORDER = """
import runpy
import sys
import jax
from jax._src import xla_bridge

script, address, rank, order = sys.argv[1:]
jax.distributed.initialize(address, 2, int(rank))
whole = xla_bridge.devices
xla_bridge.devices = jax.devices = lambda backend=None: [whole(backend)[int(i)] for i in order]
sys.argv = [script, address, rank]
runpy.run_path(script, run_name="__main__")
"""


RANKS = tuple(Forks("flax.jax_utils", "flax.training.common_utils") for _ in range(2))


@pytest.fixture(scope="module", autouse=True)
def ranks_end() -> Iterator[None]:
    """Ends with the tests the processes that their programs are forks of."""
    with RANKS[0], RANKS[1]:
        yield


def run(text: str, folder: Path, order: str = "") -> list[str]:
    """The results that both processes print, by rank; with `order` jax.devices() has all devices in that one."""
    script = folder / "program.py"
    script.write_text(text, encoding="utf-8")
    start = folder / "own_order.py"
    start.write_text(OWN_ORDER, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    for rank, forks in enumerate(RANKS):
        arguments = [str(script), address, str(rank)]
        arguments = [str(start), *arguments, order] if order else arguments
        forks.begin(arguments, {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"})
    ended = [forks.end() for forks in RANKS]
    assert all(one.status == 0 for one in ended), "".join(one.err[-2000:] for one in ended)
    return [next(line for line in one.out.splitlines() if line.startswith("RESULT")) for one in ended]


def test_two_processes_of_four_devices_agree_bitwise(tmp_path: Path) -> None:
    after = fix_files({"program.py": PROGRAM})["program.py"]
    assert "jax.pmap" not in after
    expected, found = run(PROGRAM, tmp_path), run(after, tmp_path)
    assert found == expected
    ranks = [json.loads(line.removeprefix("RESULT")) for line in found]
    assert ranks[0] != ranks[1]


def test_a_map_brings_what_one_device_holds_to_the_devices_of_all_processes(tmp_path: Path) -> None:
    after = fix_files({"program.py": RENDER})["program.py"]
    assert "in_shardings=(replicated, replicated, None)" in after
    assert "shard_map_stacked" not in after
    assert run(after, tmp_path) == run(RENDER, tmp_path)


def test_each_process_has_its_own_of_what_has_no_device_axis(tmp_path: Path) -> None:
    plan, _ = plan_sources([("program.py", tmp_path / "program.py", SHARED)], PlanOptions("auto", marks=True))
    made, stepped, _ = plan.sites
    assert [one.layout for one in made.outputs] == ["broadcast"]
    assert [one.layout for one in stepped.arguments] == ["broadcast", "stacked", "split", "broadcast"]
    assert [one.layout for one in stepped.outputs] == ["broadcast", "stacked", "broadcast"]
    (file,) = plan.files
    assert "jax.pmap" not in file.after
    assert run(file.after, tmp_path) == run(SHARED, tmp_path)


def test_maps_that_call_the_host_take_rows_of_each_process(tmp_path: Path) -> None:
    after = fix_files({"program.py": HOST_CALLS}, "stacked")["program.py"]
    assert "@on_mesh" in after
    assert "in_shardings=(NamedSharding(" in after
    assert "is_leaf" not in after, "no argument is static"
    assert "shard_map_stacked" not in after
    assert run(after, tmp_path) == run(HOST_CALLS, tmp_path)


def test_fields_of_each_device_lie_over_all_processes(tmp_path: Path) -> None:
    after = fix_files({"program.py": FIELDS}, "auto")["program.py"]
    assert "jax.pmap" not in after
    assert "host_local" not in after
    found = run(after, tmp_path)
    assert found == run(FIELDS, tmp_path)
    ranks = [json.loads(line.removeprefix("RESULT")) for line in found]
    assert ranks[0] != ranks[1]


def test_a_map_over_the_devices_of_one_process_stays_within_it(tmp_path: Path) -> None:
    after = fix_files({"program.py": GIVEN_DEVICES})["program.py"]
    assert after.count("jax.shard_map(") == 2
    assert "mesh=mesh" in after
    found = run(after, tmp_path)
    assert found == run(GIVEN_DEVICES, tmp_path)
    own, everywhere, _ = json.loads(found[0].removeprefix("RESULT"))
    assert own != everywhere


@pytest.mark.parametrize(
    ("more", "mesh"), [("", "Mesh(jax.local_devices(), (AXIS,))"), (EVERY, "get_mesh().local_mesh")]
)
def test_what_has_no_axis_name_is_mapped_over_the_devices_of_each_process(more: str, mesh: str, tmp_path: Path) -> None:
    before = UNNAMED.replace("EVERY", more)
    after = fix_files({"program.py": before})["program.py"]
    assert after.count("jax.shard_map(") == (5 if more else 4)
    assert mesh.replace("AXIS", '"i"') in after
    assert after.count("host_local(") == (2 if more else 0)
    assert run(after, tmp_path) == run(before, tmp_path)


GATHER = 'p_gather = jax.pmap(lambda x: lax.all_gather(x, "i"), axis_name="i")'


@pytest.mark.parametrize("order", ["04152637", pytest.param("45670123", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("gather", "found"), [("", "train(n)"), (GATHER, "train(n), p_gather(np.arange(n) * 2.0 + jax.process_index())")]
)
def test_devices_that_do_not_come_by_process_have_pmaps_places(
    gather: str, found: str, order: str, tmp_path: Path
) -> None:
    before = UNASKED.replace("GATHER", gather).replace("MAIN", found)
    after = fix_files({"program.py": before}, "auto")["program.py"]
    assert "jax.pmap" not in after
    assert "shard(x, P(" in after
    assert "host_local(" not in after
    assert ("global_array_to_host_local_array" in after) is bool(gather)
    assert run(after, tmp_path, order) == run(before, tmp_path, order)


def test_rows_that_may_be_fewer_take_devices_by_process(tmp_path: Path) -> None:
    found = "p_gather(jnp.arange(4.0) + jax.process_index()), len(jax.devices()[:2])"
    before = UNASKED.replace("GATHER", GATHER).replace("MAIN", found)
    after = fix_files({"program.py": before})["program.py"]
    assert "mesh_of(x)" in after
    assert run(after, tmp_path, "45670123") == run(before, tmp_path, "45670123")


def test_a_program_that_never_asks_for_its_process_raises_as_one_of_several(tmp_path: Path) -> None:
    """Its stacked arrays have a slice for each device of their process, which are too few for the mesh."""
    before = UNASKED.replace("GATHER", GATHER).replace("MAIN", "p_gather(np.arange(n) * 2.0 + RANK)")
    after = fix_files({"program.py": before})["program.py"]
    assert "host_local" not in after
    run(before, tmp_path, "01234567")
    with pytest.raises(AssertionError, match="evenly divisible"):
        run(after, tmp_path, "01234567")


VARIED = ("in_axes", "out_axes", "static", "call")
TABLE = [{**c, "processes": "two"} for c in covering(2, 0, VARIED, rules=IN_PROCESSES)]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """What is wrong with each program of the table, by its place; nothing where both processes agree."""
    programs = [(str(i), files_of(combination)) for i, combination in enumerate(TABLE)]
    found = run_in_processes(Program(name, files, fix_files(files)) for name, files in programs)
    return {v.name: "" if v.verdict == "agrees" else f"{v.verdict}: {v.text[:3000]}" for v in found}


@pytest.mark.parametrize("place", range(len(TABLE)))
def test_combinations_agree_bitwise_in_two_processes(place: int, verdicts: dict[str, str]) -> None:
    files = files_of(TABLE[place])
    after = "".join(fix_files(files).values())
    assert "host_local" in after or "Mesh(jax.local_devices(), " in after  # where the devices send nothing
    assert not verdicts[str(place)], "\n".join([str(TABLE[place]), verdicts[str(place)], *files.values()])


ALONE = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils
from jax.experimental import multihost_utils


@functools.partial(jax.pmap, axis_name="batch", donate_argnums=0)
def step(state, key, batch):
    noise = jax.random.normal(key, batch.shape[-1:])
    grads = jax.grad(lambda w: (((batch + noise) @ w) ** 2).mean())(state["w"])
    state = {"w": state["w"] - 0.1 * jax.lax.pmean(grads, "batch"), "seen": batch.mean(0)}
    return state, jax.lax.pmean(batch.sum(), "batch")


def main():
    n, first = jax.local_device_count(), jax.process_index() == 0
    state = jax_utils.replicate({"w": jnp.ones(3), "seen": jnp.zeros(3)}, devices=jax.local_devices())
    keys = jax.random.split(jax.random.fold_in(jax.random.key(0), jax.process_index()), n)
    seen = []
    for i in range(3):
        data = np.sin(np.arange(n * 6, dtype=np.float32) + i).reshape(n * 2, 3)
        state, total = step(state, keys, common_utils.shard(data))
        multihost_utils.sync_global_devices("step")
        if first:
            seen.append(float(jax_utils.unreplicate(total)))
    return jax.device_get(state["seen"]), np.asarray(jax_utils.unreplicate(state["w"])), np.array(seen)
"""


@pytest.mark.parametrize("layout", ["stacked", "auto"])
def test_a_program_that_is_one_process_needs_no_way_between_processes(layout: str) -> None:
    source = [("main.py", Path("/project/main.py"), ALONE)]
    after = {
        processes: plan_sources(source, PlanOptions(layout, declared=Declarations(processes=processes)))[0]
        for processes in (0, 1)
    }
    several, alone = (after[processes].files[0].after for processes in (0, 1))
    assert "host_local" in several
    assert "host_local" not in alone
    assert "process_index)" not in alone
    assert len(alone.splitlines()) < len(several.splitlines()) - 6
    (found,) = run_here([Program(layout, {"main.py": ALONE}, {"main.py": alone})], flags=UNOPTIMISED)
    assert found.verdict == "agrees", found.text


OWN_DEVICES = """
import json
import sys
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import get_metrics, shard
from jax import lax

RANK = int(sys.argv[2])
DEVICES


@struct.dataclass
class State:
    params: jax.Array
    key: jax.Array


def step(state, batch):
    key, next_key = jax.random.split(jax.random.fold_in(state.key, lax.axis_index("i")))
    grads = jax.grad(lambda p: ((batch @ (p - jax.random.normal(key, p.shape))) ** 2).mean())(state.params)
    return State(state.params - 0.1 * lax.pmean(grads, "i"), next_key), lax.pmean(grads.sum(), "i"), batch * grads


def held_out(params, batch):
    return lax.psum((batch @ params).sum(), "i")


def train():
    n = jax.local_device_count()
    p_step = jax.pmap(step, axis_name="i", devices=GIVEN)
    p_eval = jax.pmap(held_out, axis_name="i"EVALUATED)
    state = jax_utils.replicate(State(jnp.ones(3), jax.random.PRNGKey(0)), GIVEN)
    state = state.replace(key=jax.random.split(jax.random.PRNGKey(RANK), n))
    seen = []
    for i in range(3):
        x = np.sin(np.arange(n * 6, dtype=np.float32) + i + RANK).reshape(n * 2, 3)
        state, total, scaled = p_step(state, shard(x))
        seen += [float(total[0]), get_metrics([total]), scaled.reshape((-1,) + scaled.shape[2:]), scaled.shape]
    return [seen, p_eval(state.params, shard(x))[0], jax_utils.unreplicate(state.params), state.key]


def main():
    found = jax.tree.leaves(train())
    print("RESULT", json.dumps([np.asarray(x).tolist() for x in found]))


if __name__ == "__main__":
    main()
"""


def as_said(devices: str, given: str, *, evaluated: bool = True) -> str:
    """A program that asks for its devices and not for its process, and gives its maps those."""
    text = OWN_DEVICES.replace("DEVICES", devices).replace("GIVEN", given)
    return text.replace("EVALUATED", f", devices={given}" if evaluated else "")


@pytest.mark.parametrize(
    ("devices", "given"),
    [
        ("", "jax.local_devices()"),
        ("LISTED = jax.local_devices()", "LISTED"),
        ("LISTED = list(jax.local_devices())", "LISTED[:4]"),
        ("def some(devices=None):\n    return devices or jax.local_devices()", "some()"),
    ],
)
def test_maps_over_the_devices_of_a_process_that_nobody_asks_for_stay_within_it(
    devices: str, given: str, tmp_path: Path
) -> None:
    before = as_said(devices, given)
    plan, _ = plan_sources([("program.py", tmp_path / "program.py", before)], PlanOptions("auto"))
    stepped, evaluated = plan.sites
    made = "stacked" if "[:4]" in given else "replicated"  # of so few devices, which may not be all
    assert [one.layout for one in evaluated.arguments] == [made, "split"]
    assert [one.layout for one in stepped.outputs][-2:] == ["replicated", "split"]
    (file,) = plan.files
    assert "Mesh(jax.local_devices(), " in file.after
    assert "jax.devices()" not in file.after
    assert run(file.after, tmp_path, "01234567") == run(before, tmp_path, "01234567")


SOME_DEVICES = """
import json
import sys
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from jax import lax

RANK = int(sys.argv[2])
devices = jax.local_devices()[1:]
p_step = jax.pmap(lambda w, x: (w - lax.pmean(x.mean(0), "i"), x * w), axis_name="i", devices=devices)
w = jax_utils.replicate(jnp.ones(3), devices)
for i in range(2):
    x = np.sin(np.arange(18, dtype=np.float32) + i + RANK)
    w, y = p_step(w, x.reshape((len(devices), -1, 3)))
found = [jax_utils.unreplicate(w), y.reshape((-1,) + y.shape[2:]), y.shape, len(w)]
print("RESULT", json.dumps([np.asarray(x).tolist() for x in found]))
"""


def test_maps_over_some_devices_of_a_process_stay_within_it(tmp_path: Path) -> None:
    plan, _ = plan_sources([("program.py", tmp_path / "program.py", SOME_DEVICES)], PlanOptions("auto"))
    (site,) = plan.sites
    assert [one.layout for one in (*site.arguments, *site.outputs)] == ["replicated", "split", "replicated", "split"]
    found = run(plan.files[0].after, tmp_path, "01234567")
    assert found == run(SOME_DEVICES, tmp_path, "01234567")
    assert found[0] != found[1]


def test_maps_over_devices_that_may_be_those_of_a_process_stay_stacked(tmp_path: Path) -> None:
    given = "(jax.local_devices()[:2] if jax.local_device_count() < 2 else None)"
    before = as_said("", given)
    plan, _ = plan_sources([("program.py", tmp_path / "program.py", before)], PlanOptions("auto"))
    assert {one.layout for site in plan.sites for one in (*site.arguments, *site.outputs)} == {"stacked"}


def test_maps_over_the_devices_of_a_process_stay_stacked_beside_maps_over_all(tmp_path: Path) -> None:
    before = as_said("", "jax.local_devices()", evaluated=False)
    plan, _ = plan_sources([("program.py", tmp_path / "program.py", before)], PlanOptions("auto"))
    stepped, evaluated = plan.sites
    assert {one.layout for one in (*stepped.arguments, *stepped.outputs)} == {"stacked"}
    assert evaluated.arguments[0].layout == "stacked"
    assert "the devices of this process, while others may take those of all (line 33)" in stepped.outputs[0].reason
    assert "processes = 1" in stepped.outputs[0].advice
    told = PlanOptions("auto", declared=Declarations(processes=1))
    plan, _ = plan_sources([("program.py", tmp_path / "program.py", before)], told)
    assert [one.layout for one in plan.sites[1].arguments] == ["replicated", "split"]


@pytest.mark.parametrize("count", ["local_device_count", "device_count"])
def test_a_map_of_the_first_devices_raises_in_several_processes_that_nothing_shows(count: str) -> None:
    text = f"import jax\n\nN = jax.{count}()\n\n\ndef make(f, n, **how):\n    return jax.pmap(f, 'i', **how)\n"
    plan, errors = plan_sources([("a.py", Path("/project/a.py"), text)], PlanOptions("auto"))
    assert not errors
    after = plan.files[0].after
    assert "[:rows]" in after
    assert "process_count() == 1" in after
