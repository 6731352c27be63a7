# ruff: noqa: E501 - a program reads better in few lines
"""For rows that only a person can replace: old code, and the code that the row's note tells to write instead.

`WITHOUT` says of the other rows why no program can be compared.
"""

from __future__ import annotations

from tests.campaigns.old_name_cases import SHARD

SPLIT = (
    "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n"
    "mesh, table = Mesh(np.array(jax.devices()), ('i',)), np.arange(16.0).reshape(8, 2)\n"
    "def layout(a):\n    return [np.ravel(s.data) for s in sorted(a.addressable_shards, key=lambda s: s.device.id)]\n"
)
XMAP_OLD = (
    SHARD
    + "from jax.experimental.maps import xmap, SerialLoop\nrows = np.arange(32.0, dtype=np.float32).reshape(16, 2)\n"
)
XMAP_NEW = SHARD + "rows = np.arange(32.0, dtype=np.float32).reshape(16, 2)\n"
THREAD = SHARD + "{}with {}:\n    out = str(sorted({}.shape.items()))"

BY_HAND: dict[str, tuple[str, str]] = {
    "jax.abstract_arrays": (
        "from jax import abstract_arrays\nout = str(abstract_arrays.ShapedArray((2,), jnp.dtype('int32')).dtype)",
        "from jax import core\nout = str(core.ShapedArray((2,), jnp.dtype('int32')).dtype)",
    ),
    "jax.curry": (
        "out = jax.curry(lambda x, y: x - 2 * y)(3.0)(1.0)",
        "import functools\nout = functools.partial(functools.partial, lambda x, y: x - 2 * y)(3.0)(1.0)",
    ),
    "jax.experimental.disable_x64": (
        "from jax.experimental import disable_x64\nwith disable_x64():\n    out = str(jnp.arange(3.0).dtype)",
        "with jax.enable_x64(False):\n    out = str(jnp.arange(3.0).dtype)",
    ),
    "jax.experimental.enable_x64": (
        "from jax.experimental import enable_x64\nwith enable_x64():\n    out = jnp.arange(3.0) / 3, str(jnp.arange(3.0).dtype)",
        "with jax.enable_x64(True):\n    out = jnp.arange(3.0) / 3, str(jnp.arange(3.0).dtype)",
    ),
    "jax.experimental.host_callback": (
        "from jax.experimental import host_callback\nout = jax.jit(lambda x: host_callback.call(np.cumsum, x, result_shape=x))(jnp.arange(4.0))",
        "out = jax.jit(lambda x: jax.pure_callback(np.cumsum, x, x))(jnp.arange(4.0))",
    ),
    "jax.experimental.host_callback.stop_outfeed_receiver": (
        "from jax.experimental.host_callback import stop_outfeed_receiver\nstop_outfeed_receiver()\nout = jnp.arange(3.0)",
        "out = jnp.arange(3.0)",
    ),
    "jax.experimental.maps": (
        XMAP_OLD + "from jax.experimental import maps\nout = maps.xmap(lambda a: a.sum(), ['b', ...], ['b', ...])(rows)",
        XMAP_NEW + "out = jax.jit(jax.shard_map(lambda a: a.sum(1), mesh=mesh, in_specs=P('i'), out_specs=P('i')))(rows)",
    ),
    "jax.experimental.maps.SerialLoop": (
        XMAP_OLD + "out = xmap(lambda a: jnp.tanh(a).sum(), ['b', ...], ['b', ...], axis_resources={'b': SerialLoop(4)})(rows)",
        XMAP_NEW + "out = jax.jit(lambda rows: jax.lax.map(lambda a: jnp.tanh(a).sum(), rows))(rows)",
    ),
    "jax.experimental.maps.thread_resources": (
        THREAD.format("from jax.experimental.maps import thread_resources\n", "mesh", "thread_resources.env.physical_mesh"),
        THREAD.format("", "jax.set_mesh(mesh)", "jax.sharding.get_abstract_mesh()"),
    ),
    "jax.interpreters.pxla.thread_resources": (
        THREAD.format("from jax.interpreters.pxla import thread_resources\n", "mesh", "thread_resources.env.physical_mesh"),
        THREAD.format("", "jax.set_mesh(mesh)", "jax.sharding.get_abstract_mesh()"),
    ),
    "jax.host_ids": ("out = list(jax.host_ids())", "out = list(range(jax.process_count()))"),
    "jax.lax.pdot": (
        "f = lambda x, y: jax.lax.pdot(x, y, 'i', ((0,), (0,)))\nout = jax.vmap(f, axis_name='i')(jnp.ones((3, 2)), jnp.arange(6.0).reshape(3, 2))",
        "f = lambda x, y: jax.lax.psum(jnp.tensordot(x, y, ((0,), (0,))), 'i')\nout = jax.vmap(f, axis_name='i')(jnp.ones((3, 2)), jnp.arange(6.0).reshape(3, 2))",
    ),
    "jax.lax.xeinsum": (
        XMAP_OLD + "f = lambda a, b: jax.lax.xeinsum('{i},{i}->{}', a, b)\nout = xmap(f, (['i'], ['i']), [])(np.arange(8.0), np.ones(8))",
        XMAP_NEW + "f = lambda a, b: jax.lax.psum(jnp.einsum(',->', a, b), 'i')\nout = jax.vmap(f, out_axes=None, axis_name='i')(np.arange(8.0), np.ones(8))",
    ),
    "jax.lib.xla_bridge": (
        "from jax.lib import xla_bridge\nout = xla_bridge.get_backend().platform",
        "from jax.extend import backend\nout = backend.get_backend().platform",
    ),
    "jax.numpy.in1d": (
        "out = jnp.in1d(jnp.arange(6).reshape(2, 3), jnp.array([1, 4]))",
        "out = jnp.isin(jnp.arange(6).reshape(2, 3), jnp.array([1, 4])).ravel()",
    ),
    **{
        f"jax.random.{old}": (
            (
                f"jax.config.update('jax_enable_custom_prng', True)\nkey = jax.random.{old}(3)\n"
                "jax.config.update('jax_enable_custom_prng', False)\nout = jax.random.key_data(key)"
            ),
            f"out = jax.random.key_data(jax.random.key(3, impl='{impl}'))",
        )
        for old, impl in (("rbg_key", "rbg"), ("unsafe_rbg_key", "unsafe_rbg"), ("threefry2x32_key", "threefry2x32"))
    },
    "jax.random.shuffle": (
        "out = jnp.sort(jax.random.shuffle(jax.random.PRNGKey(0), jnp.arange(5)))",
        "out = jnp.sort(jax.random.permutation(jax.random.PRNGKey(0), jnp.arange(5), independent=True))",
    ),
    "jax.sharding.GSPMDSharding": (
        SPLIT + "whole = jax.sharding.GSPMDSharding.get_replicated(jax.devices())\nout = layout(jax.device_put(table, whole))",
        SPLIT + "out = layout(jax.device_put(table, NamedSharding(mesh, P())))",
    ),
    "jax.sharding.PmapSharding": (
        SPLIT + "out = layout(jax.device_put(table, jax.sharding.PmapSharding.default(table.shape)))",
        SPLIT + "out = layout(jax.device_put(table, NamedSharding(mesh, P('i'))))",
    ),
    "jax.spmd_mode": (
        SPLIT + "with jax.spmd_mode('allow_all'):\n    out = jax.device_put(table, NamedSharding(mesh, P('i'))) * 2",
        SPLIT + "out = jax.device_put(table, NamedSharding(mesh, P('i'))) * 2",
    ),
    "jax.tree_util.build_tree": (
        "tree = jax.tree_util.tree_structure([0, (0, 0)])\nout = str(jax.tree_util.build_tree(tree, [1, [2, 3]]))",
        "tree = jax.tree_util.tree_structure([0, (0, 0)])\nout = str(jax.tree.unflatten(tree, [1, 2, 3]))",
    ),
    "jax.util": (
        "from jax.util import safe_map, split_list\nout = safe_map(lambda a, b: a + b, [1, 2], [3, 4]), split_list([1, 2, 3], [1])[1]",
        "out = [a + b for a, b in zip([1, 2], [3, 4], strict=True)], [1, 2, 3][1:]",
    ),
    "jax.xla_computation": (
        "out = jax.xla_computation(lambda x: jnp.sin(x))(1.0).as_hlo_text().count('sine(')",
        "out = jax.jit(lambda x: jnp.sin(x)).lower(1.0).as_text(dialect='hlo').count('sine(')",
    ),
    "flax.nnx.pmap": (
        ("from flax import nnx\nm = nnx.Linear(2, 3, rngs=nnx.Rngs(0))\nx = jnp.arange(32.0).reshape(8, 2, 2)\n"
        "f = nnx.pmap(lambda m, x: m(x) + jax.lax.psum(x.sum(), 'i'), in_axes=(None, 0), axis_name='i')\nout = f(m, x).reshape(16, 3)"),
        ("from flax import nnx\nfrom jax.sharding import Mesh, PartitionSpec as P\nm = nnx.Linear(2, 3, rngs=nnx.Rngs(0))\n"
        "x, mesh = jnp.arange(32.0).reshape(16, 2), Mesh(np.array(jax.devices()), ('i',))\n"
        "f = nnx.shard_map(lambda m, x: m(x) + jax.lax.psum(x.sum(), 'i'), mesh=mesh, in_specs=(P(), P('i')), out_specs=P('i'))\nout = f(m, x)"),
    ),
}  # fmt: skip

OLDER = "gone before jax 0.4.13, the oldest that can be installed here"
WITHOUT: dict[str, str] = {
    "jax.tools.colab_tpu": "it talks to the machine of a notebook in Colab",
    "jaxlib.xla_extension": "a module without its names",
    **dict.fromkeys(
        (
            *("jax.experimental.global_device_array", "jax.experimental.global_device_array.GlobalDeviceArray"),
            *(
                "jax.experimental.loops",
                "jax.experimental.maps.mesh",
                "jax.experimental.maps.soft_pmap",
                "jax.soft_pmap",
            ),
            *("jax.experimental.optix", "jax.experimental.sharded_jit", "jax.interpreters.sharded_jit"),
            *("jax.interpreters.sharded_jit.sharded_jit", "jax.interpreters.sharded_jit.with_sharding_constraint"),
            *("jax.sharding.OpShardingSharding", "jax.experimental.global_device_array.Mesh"),
        ),
        OLDER,
    ),
    "jax.experimental.host_callback.CallbackException": "an exception's class: it gives no numbers",
    "jax.experimental.host_callback.TapFunctionException": "an exception's class: it gives no numbers",
    "jax.experimental.pjit.AUTO": "needs a compiler that partitions by itself, which that for CPUs does not",
    "flax.optim": "optimizers of another kind, which only releases of flax have that do not run on this jax",
    "objax.Parallel": "objax itself does not run on the newest jax",
}
