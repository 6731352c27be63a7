# ruff: noqa: E501 - a program reads better in few lines
"""A program for each row of the table of old names: it binds `out`, numbers or text, which the rewrite must give too.

`USES` has one for each name that fix replaces. A line of the table without a program here fails the default suite.
"""

from __future__ import annotations

PRELUDE = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n"
TREE = "tree = {'a': jnp.arange(3.0), 'b': [jnp.ones(2), jnp.float32(4.0)]}\n"
MESHES = "devices = np.array(jax.devices()).reshape(4, 2)\n"
SPEC = "spec = {name}('x')\nout = [len(spec), str(spec[0])]\n"
SHARD = (
    "from jax.sharding import Mesh, PartitionSpec as P\nmesh = Mesh(np.array(jax.devices()), ('i',))\n"
    "x = jnp.arange(16.0) / 16\nw = jnp.float32(0.5)\n"
)
MESH = "mesh = {name}(devices, ('x', 'y'))\nout = [mesh.shape['x'], mesh.shape['y']]\n"
CORE = "out = {name}.__name__"

LAID = (
    "from jax.sharding import PositionalSharding\ntable = np.arange(64.0, dtype=np.float32).reshape(8, 8)\n"
    "def layout(a):\n"
    "    places = {d.id: str(i) for d, i in a.sharding.devices_indices_map(a.shape).items()}\n"
    "    return str(sorted(places.items()))\n"
)
HOST = (
    "from jax.experimental import host_callback as hcb\ngot = []\n"
    "def keep(arg, transforms):\n    got.append((repr(type(jax.tree_util.tree_leaves(arg)[0])), str(arg).replace('.0', '.')))\n"
    "def double(a):\n    got.append(str(type(a)))\n    return a * 2\n"
)
EQX = (
    "import equinox as eqx\nmodel = eqx.nn.Linear(3, 2, key=jax.random.PRNGKey(0))\n"
    "x = jnp.arange(96.0).reshape(8, 4, 3) / 64\n"
)
XMAP = SHARD + (
    "from jax import lax\nfrom jax.experimental.maps import xmap\nrows = np.arange(32.0, dtype=np.float32).reshape(16, 2)\n"
)

USES: dict[str, str] = {
    # trees
    "jax.tree_map": TREE + "out = jax.tree_map(lambda x, y: x + 2 * y, tree, tree)['b']",
    "jax.tree_flatten": TREE + "out = jax.tree_flatten(tree)[0]",
    "jax.tree_leaves": TREE + "from jax import tree_leaves\nout = tree_leaves(tree)",
    "jax.tree_structure": TREE + "out = str(jax.tree_structure(tree))",
    "jax.tree_transpose": (
        "outer, inner = jax.tree_util.tree_structure([0, 0]), jax.tree_util.tree_structure({'a': 0})\n"
        "out = jax.tree_transpose(outer, inner, [{'a': 1.0}, {'a': 2.0}])['a']"
    ),
    "jax.tree_unflatten": TREE + "out = jax.tree_unflatten(jax.tree_util.tree_structure([0, 0]), [1.0, 2.0])",
    "jax.tree_all": "out = jax.tree_all({'a': True, 'b': False})",
    "jax.tree_reduce": "out = jax.tree_reduce(lambda x, y: x + y, {'a': 1.0, 'b': 2.5})",
    "jax.tree_multimap": TREE + "out = jax.tree_multimap(lambda x, y: x - 3 * y, tree, tree)['b']",
    "jax.tree_util.tree_multimap": TREE + (
        "from jax.tree_util import tree_multimap\nout = tree_multimap(lambda x, y: x - 3 * y, tree, tree)['b']"
    ),
    "jax.treedef_is_leaf": "out = jax.treedef_is_leaf(jax.tree_util.tree_structure(0))",
    "jax.treedef_children": "out = len(jax.treedef_children(jax.tree_util.tree_structure([0, 0])))",
    "jax.treedef_tuple": "out = str(jax.treedef_tuple([jax.tree_util.tree_structure(0)]))",
    # meshes and specs from their old homes
    **{
        f"{home}.Mesh": MESHES + f"from {home} import Mesh\n" + MESH.format(name="Mesh")
        for home in ("jax.experimental.maps", "jax.interpreters.pxla", "jax.experimental.global_device_array")
    },
    "jax.experimental.shard_map.Mesh": MESHES + "from jax.experimental.shard_map import Mesh\n" + MESH.format(name="Mesh"),
    **{
        f"{home}.PartitionSpec": f"from {home} import PartitionSpec as P\n" + SPEC.format(name="P")
        for home in (
            *("jax.experimental", "jax.experimental.pjit", "jax.interpreters.pxla", "jax.experimental.maps"),
            *("jax.interpreters.sharded_jit", "jax.experimental.shard_map"),
        )
    },
    "jax.experimental.shard_map.P": "from jax.experimental.shard_map import P\n" + SPEC.format(name="P"),
    "jax.experimental.shard_map.NamedSharding": SHARD + (
        "from jax.experimental.shard_map import NamedSharding\n"
        "out = jax.device_put(x, NamedSharding(mesh, P('i')))"
    ),
    "jax.experimental.sharding.MeshPspecSharding": SHARD + (
        "from jax.experimental.sharding import MeshPspecSharding\nout = jax.device_put(x, MeshPspecSharding(mesh, P('i')))"
    ),
    "jax.sharding.MeshPspecSharding": SHARD + "out = jax.device_put(x, jax.sharding.MeshPspecSharding(mesh, P('i')))",
    "jax.sharding.XLACompatibleSharding": SHARD + (
        "out = isinstance(jax.sharding.NamedSharding(mesh, P('i')), jax.sharding.XLACompatibleSharding)"
    ),
    "jax.experimental.pjit.with_sharding_constraint": SHARD + (
        "from jax.experimental.pjit import with_sharding_constraint\n"
        "out = jax.jit(lambda x: with_sharding_constraint(x, jax.sharding.NamedSharding(mesh, P('i'))) * 2)(x)"
    ),
    "jax.with_sharding_constraint": SHARD + (
        "out = jax.jit(lambda x: jax.with_sharding_constraint(x, jax.sharding.NamedSharding(mesh, P('i'))) * 2)(x)"
    ),
    "jax.sharding.Mesh.__enter__": SHARD + (
        "with mesh:\n    out = jax.jit(lambda x: jax.lax.with_sharding_constraint(x * w, P('i')))(x)"
    ),
    "jax.sharding.use_mesh": SHARD + (
        "with jax.sharding.use_mesh(mesh):\n    out = jax.jit(lambda x: jax.lax.with_sharding_constraint(x * w, P('i')))(x)"
    ),
    "jax.lax.psum(1)": SHARD + (
        "size = lambda v: jax.lax.psum(1, 'i') + 10 * jax.lax.psum(1, axis_name=('i',)) + 0 * v.astype(int)\n"
        "out = jax.pmap(size, axis_name='i')(x[:8])"
    ),
    "jax.numpy.clip(a_min)": "out = jax.numpy.clip(x - 2, a_min=-1, a_max=x.mean()) + jax.numpy.clip(a=x, a_max=1)",
    "jax.make_mesh.axis_types": (
        "from jax.sharding import PartitionSpec as P\nfrom jax import tree_util\nmesh = jax.make_mesh((8,), ('i',))\n"
        "f = jax.jit(lambda x: x * 2, in_shardings=jax.sharding.NamedSharding(mesh, P('i')))\n"
        "with mesh:\n    out = f(np.arange(16.0)).reshape(4, 4)[1]"
    ),
    # shard_map and pjit
    "jax.experimental.shard_map": SHARD + (
        "from jax.experimental import shard_map\n"
        "f = shard_map.shard_map(lambda x: jax.lax.psum(x, 'i'), mesh, P('i'), P())\nout = jax.jit(f)(x)"
    ),
    "jax.experimental.shard_map.shard_map": SHARD + (
        "from jax.experimental.shard_map import shard_map\n"
        "def step(w, x):\n    g = jax.grad(lambda w: jnp.mean((x * w - 1) ** 2))(w)\n"
        "    return jax.lax.pmean(g, 'i'), jax.lax.psum(g, 'i'), g[None]\n"
        "f = shard_map(step, mesh, (P(), P('i')), (P(), P(), P('i')), check_rep=False)\nout = jax.jit(f)(w, x)"
    ),
    "jax.experimental.pjit.pjit": SHARD + (
        "from jax.experimental.pjit import pjit\nf = pjit(lambda x, w: x * w, in_shardings=(P('i'), None), out_shardings=P())\n"
        "with mesh:\n    out = f(x, w)"
    ),
    "jax.pjit": SHARD + "out = jax.pjit(lambda x, w: x * w)(x, w)",
    "jax.experimental.maps.xmap": SHARD + (
        "from jax.experimental.maps import xmap\nrows, w = np.arange(32.0).reshape(16, 2), np.ones((2, 3))\n"
        "f = xmap(lambda a, w: jnp.tanh(a) @ w, in_axes=(['b', ...], [...]), out_axes=['b', ...], axis_resources={'b': 'i'})\n"
        "g = xmap(lambda a: a.sum(), in_axes={1: 'b'}, out_axes={0: 'b'}, axis_resources={'b': 'i'})\n"
        "with mesh:\n    out = f(rows, w), g(rows.T)"
    ),
    # arrays and keys
    "jax.device_put_replicated": (
        "out = jax.device_put_replicated({'a': np.arange(3.0), 'b': 2}, jax.devices())\nout = out['a'], out['b']"
    ),
    "jax.device_put_sharded": (
        "out = jax.device_put_sharded([{'a': np.full(3, i)} for i in range(8)], jax.devices())['a']"
    ),
    "jax.sharding.PositionalSharding": LAID + (
        "sharding = PositionalSharding(jax.devices())\nrows = sharding.reshape(-1, 1)\n"
        "whole = jax.device_put((table, table), (sharding.replicate().reshape(1, 1), sharding.reshape(1, 8).replicate()))\n"
        "parts = jax.device_put(table, rows), jax.device_put(table, sharding.reshape((4, 2)).T.replicate(0)), whole[0]\n"
        "out = [parts, [layout(p) for p in parts]]"
    ),
    "jax.experimental.host_callback.call": HOST + (
        "f = jax.jit(lambda x: hcb.call(lambda a: np.cumsum(a['x'])[::-1], {'x': x}, result_shape=x) + hcb.call(\n"
        "    double, x, result_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)))\nout = f(jnp.arange(4.0)), got"
    ),
    "jax.experimental.host_callback.id_tap": HOST + (
        "def step(c, v):\n    c = hcb.id_tap(keep, c, result=c + v)\n    hcb.id_tap(keep, (c, {'v': v}))\n    return c, hcb.id_tap(keep, v)\n"
        "out = jax.jit(lambda x: jax.lax.scan(step, 0.0, x))(jnp.arange(3.0))\n"
        "hcb.barrier_wait()\nout = out, sorted(map(str, got))"
    ),
    "jax.experimental.host_callback.id_print": HOST + (
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as printed:\n"
        "    out = jax.jit(lambda x: hcb.id_print(x * 2, what='x * 2', a=1, result=x + 1))(jnp.arange(4.0))\n"
        "    hcb.barrier_wait('printing')\nout = out, printed.getvalue()"
    ),
    "jax.experimental.host_callback.barrier_wait": (
        "from jax.experimental.host_callback import barrier_wait as wait, id_tap\ngot = []\n"
        "def keep(arg, transforms):\n    got.append(float(arg))\n"
        "jax.jit(lambda x: id_tap(keep, x))(3.0)\nwait()\nout = got"
    ),
    # twins
    "equinox.filter_pmap": EQX + (
        "@eqx.filter_pmap(axis_name='i', in_axes=(None, 0, eqx.if_array(0)), donate='none')\n"
        "def step(model, x, kind):\n"
        "    loss, g = eqx.filter_value_and_grad(lambda m: jnp.mean(jax.vmap(m)(x) ** 2))(model)\n"
        "    return eqx.apply_updates(model, jax.lax.pmean(g, 'i')), jax.lax.axis_index('i') + jax.lax.psum(loss, 'i'), kind\n"
        "new, losses, kind = step(model, x, 'kept')\n"
        "g = eqx.filter_pmap(lambda m, x: (jax.vmap(m)(x), jax.lax.all_gather(x.sum(), 'i')), axis_name='i')\n"
        "out = new.weight, losses, kind, g(new, x)"
    ),
    "flax.jax_utils.pmean": (
        "from flax.jax_utils import pmean\nout = jax.vmap(lambda x: x - pmean(x, 'i'), axis_name='i')(jnp.arange(8.0))"
    ),
    "flax.optim.DynamicScale": "import flax.optim\nout = flax.optim.DynamicScale(scale=2.0).scale",
    "flax.optim.dynamic_scale": "from flax.optim import dynamic_scale as ds\nout = ds.DynamicScale(scale=2.0).scale",
    "jax.experimental.array.Array": "from jax.experimental.array import Array\nout = isinstance(jnp.ones(1), Array)",
    "jax.random.KeyArray": "def f(key: jax.random.KeyArray):\n    return key\nout = f(jax.random.PRNGKey(1))",
    "jax.random.PRNGKeyArray": (
        "def f(key: jax.random.PRNGKeyArray):\n    return key\nout = f(jax.random.PRNGKey(1))"
    ),
    "jax.prng": "import jax.prng\nout = jax.prng.threefry_prng_impl is not None",
    "jax.prng.PRNGKeyArray": "import jax.prng\ndef f(key: jax.prng.PRNGKeyArray):\n    return key\nout = f(1)",
    **{
        f"{home}.DeviceArray": f"def f(x: '{home}.DeviceArray'):\n    return x\nfrom {home} import DeviceArray\nout = f(1)"
        for home in ("jax.numpy", "jax.interpreters.xla", "jax.xla")
    },
    "jax.interpreters.xla._DeviceArray": "from jax.interpreters.xla import _DeviceArray\nout = isinstance(1, _DeviceArray)",
    "jax.interpreters.pxla.ShardedDeviceArray": (
        "from jax.interpreters.pxla import ShardedDeviceArray\nout = isinstance(1, ShardedDeviceArray)"
    ),
    "jax.abstract_arrays.ShapedArray": (
        "from jax.abstract_arrays import ShapedArray\nout = str(ShapedArray((2,), jnp.dtype('float32')).shape)"
    ),
    "jax.ShapedArray": "out = str(jax.ShapedArray((2,), jnp.dtype('float32')).shape)",
    "jax.interpreters.xla.ShapedArray": (
        "from jax.interpreters import xla\nout = str(xla.ShapedArray((2,), jnp.dtype('float32')).shape)"
    ),
    **{
        f"{home}.Device": f"from {home} import Device\nout = isinstance(jax.devices()[0], Device)"
        for home in ("jax.interpreters.xla", "jax.lib.xla_client", "jaxlib.xla_extension")
    },
    "jax.xla.Device": "from typing import Optional\ndef f(d: Optional[jax.xla.Device] = None):\n    return 1\nout = f()",
    **{
        f"{home}.DeviceArray": f"from {home} import DeviceArray\nout = isinstance(1, DeviceArray)"
        for home in ("jax.lib.xla_extension", "jaxlib.xla_extension")
    },
    **{
        f"{home}.XlaRuntimeError": f"from {home} import XlaRuntimeError as E\nout = issubclass(E, RuntimeError)"
        for home in ("jax.lib.xla_extension", "jaxlib.xla_extension")
    },
    # updates
    **{
        f"jax.ops.index_{kind}": (
            "x, i = np.arange(6.0), jnp.array([1, 1, 4])\n"
            f"out = jax.ops.index_{kind}(jax.ops.index_{kind}(x, jax.ops.index[i], 2.5), 0, y=1.5)"
        )
        for kind in ("add", "max", "min", "mul", "update")
    },
    "jax.ops.index": "at = jax.ops.index[1:3, ::2]\nout = jnp.arange(12.0).reshape(3, 4)[at]",
    "jax.lax.tie_in": "from jax.lax import tie_in\nx = jnp.ones(2)\nout = tie_in(x, jnp.arange(3.0)) * 2",
    "jax.numpy.NINF": "out = str(jnp.NINF), str(1 - jnp.NINF)",
    # axes
    "jax.lax.pvary": SHARD + (
        "f = jax.shard_map(lambda w, x: jax.grad(lambda w: jnp.sum(w * x))(jax.lax.pvary(w, 'i'))[None], mesh=mesh,\n"
        "    in_specs=(P(), P('i')), out_specs=P('i'))\nout = jax.jit(f)(w, x)"
    ),
    "jax.core.axis_frame": (
        "from jax import core\nout = jax.vmap(lambda x: x * core.axis_frame('i').size, axis_name='i')(jnp.ones(8))"
    ),
    # what has moved
    "jax.linear_util": "from jax import linear_util as lu\nout = lu.wrap_init.__name__, lu.WrappedFun.__name__",
    **{
        f"jax.prng.{name}": f"from jax.prng import {name}\nout = {name} is not None"
        for name in ("seed_with_impl", "threefry_2x32", "threefry_prng_impl", "rbg_prng_impl", "unsafe_rbg_prng_impl")
    },
    "jax.random.threefry_2x32": (
        "k = jnp.array([1, 2], dtype=jnp.uint32)\nout = jax.random.threefry_2x32(k, jnp.arange(4, dtype=jnp.uint32))"
    ),
    "jax.config.config": "from jax.config import config\nconfig.update('jax_enable_x64', False)\nout = jnp.arange(3.0)",
    "jax.clear_backends": (
        "a = jax.jit(lambda x: x + 1)(1.0)\njax.clear_backends()\nout = jax.jit(lambda x: x + 2)(1.0)"
    ),
    "jax.partial": "from jax import partial\nout = partial(jnp.add, 2.0)(3.0)",
    "jax.util.prod": "import jax.util\nout = jax.util.prod((2, 3, 4))",
    "jax._src.util.prod": "from jax._src import util\nout = sum(util.prod(x) for x in [(2, 3), ()])",
    "jax.util.partial": "out = jax.util.partial(jnp.add, 2.0)(3.0)",
    "jax.experimental.compilation_cache.compilation_cache.initialize_cache": (
        "import tempfile\nfrom jax.experimental.compilation_cache import compilation_cache as cc\n"
        "cc.initialize_cache(tempfile.mkdtemp())\nout = jax.jit(lambda x: x + 1)(1.0)"
    ),
    "jax.host_id": "out = jax.host_id()",
    "jax.host_count": "out = jax.host_count()",
    "jax.experimental.optimizers": (
        "from jax.experimental import optimizers\ninit, update, get = optimizers.sgd(0.1)\n"
        "out = get(update(0, jnp.ones(2), init(jnp.zeros(2))))"
    ),
    "jax.experimental.stax": "from jax.experimental.stax import Relu\nout = len(Relu)",
    "jax.api": "from jax.api import jit\nout = jit(lambda x: x * 2)(3.0)",
    "jax.lib.xla_bridge.get_backend": "from jax.lib import xla_bridge\nout = xla_bridge.get_backend().platform",
    "jax.lib.xla_bridge.device_count": "from jax.lib import xla_bridge\nout = xla_bridge.device_count()",
    "jax.lib.xla_bridge.local_device_count": "from jax.lib import xla_bridge\nout = xla_bridge.local_device_count()",
    "jax.lib.xla_bridge.devices": "from jax.lib import xla_bridge\nout = len(xla_bridge.devices())",
    **{
        f"jax.core.{name}": f"from jax import core\nout = core.{name} is not None"
        for name in (
            *("ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "Primitive", "Token", "Var", "array_types", "jaxpr_as_fun"),
            *("DebugInfo", "DropVar", "Effect", "Effects", "check_jaxpr", "concrete_or_error", "find_top_trace"),
            *("gensym", "get_opaque_trace_state", "jaxprs_in_params", "new_jaxpr_eqn", "valid_jaxtype"),
            *("primal_dtype_to_tangent_dtype", "ConcretizationTypeError", "TracerArrayConversionError"),
            *("TracerIntegerConversionError", "UnexpectedTracerError", "InconclusiveDimensionOperation"),
            "JaxprTypeError",
        )
    },
    "jax.extend.ffi": "from jax.extend import ffi\nout = [ffi.ffi_lowering.__name__, ffi.include_dir.__name__]",
    # numpy and its like
    "jax.numpy.alltrue": "out = jnp.alltrue(jnp.array([True, False]))",
    "jax.numpy.sometrue": "out = jnp.sometrue(jnp.array([True, False]))",
    "jax.numpy.product": "out = jnp.product(jnp.arange(1.0, 5.0))",
    "jax.numpy.cumproduct": "out = jnp.cumproduct(jnp.arange(1.0, 5.0))",
    "jax.numpy.row_stack": "out = jnp.row_stack([jnp.ones(2), jnp.zeros(2)])",
    "jax.numpy.round_": "out = jnp.round_(jnp.array([1.26, -2.5]), 1)",
    "jax.numpy.trapz": "out = jnp.trapz(jnp.arange(4.0) ** 2)",
    "jax.numpy.fix": "out = jnp.fix(jnp.array([1.7, -1.7, -0.2]))",
    "jax.nn.normalize": "out = jax.nn.normalize(jnp.arange(6.0).reshape(2, 3))",
    "jax.scipy.linalg.tril": "import jax.scipy.linalg\nout = jax.scipy.linalg.tril(jnp.ones((3, 3)), -1)",
    "jax.scipy.linalg.triu": "import jax.scipy.linalg\nout = jax.scipy.linalg.triu(jnp.ones((3, 3)), 1)",
    "jax.experimental.multihost_utils.tree_map": (
        "from jax.experimental import multihost_utils\nout = multihost_utils.tree_map(lambda x: x * 2, [1.0, 2.0])"
    ),
}  # fmt: skip

# The same numbers, by ways that a row can be used in beside that above.
MORE: dict[str, str] = {
    "check_rep, no gradient inside, checked": SHARD + (
        "from jax.experimental.shard_map import shard_map\n"
        "out = jax.jit(shard_map(lambda x: jax.lax.psum(x.sum(), 'i'), mesh=mesh, in_specs=P('i'), out_specs=P()))(x)"
    ),
    "check_rep, gradients inside, written before 0.6": SHARD + (
        "from jax.experimental.shard_map import shard_map\nfrom functools import partial\n"
        "@partial(shard_map, mesh=mesh, in_specs=(P(), P('i')), out_specs=(P(), P('i')))\n"
        "def step(w, x):\n    g = jax.grad(lambda w: jnp.mean((x * w - 1) ** 2))(w)\n"
        "    return jax.lax.pmean(g, 'i'), jax.grad(lambda x: jnp.sum(jax.lax.psum(x * w, 'i')))(x)\n"
        "out = jax.tree_map(lambda x: x * 1, jax.jit(step)(w, x))"
    ),
    "check_rep, a carry": SHARD + (
        "from jax.experimental.shard_map import shard_map\n"
        "def body(x):\n    total = jax.lax.scan(lambda c, v: (c + v, None), 0.0, x)[0]\n    return jax.lax.psum(total, 'i')\n"
        "out = jax.jit(shard_map(body, mesh, P('i'), P()))(x)"
    ),
    "gradients of a shard_map": SHARD + (
        "from jax.experimental.shard_map import shard_map\n"
        "f = shard_map(lambda w, x: jax.lax.psum(jnp.mean((x * w - 1) ** 2), 'i'), mesh, (P(), P('i')), P())\n"
        "out = jax.jit(jax.grad(f, (0, 1)))(w, x)"
    ),
    "auto": SHARD + MESHES + (
        "from jax.experimental.shard_map import shard_map\nmesh = Mesh(devices, ('x', 'y'))\n"
        "f = shard_map(lambda a: a * jax.lax.psum(jnp.sum(a), 'x'), mesh, P('x'), P('x'), check_rep=False, "
        "auto=frozenset({'y'}))\nout = jax.jit(f)(x)"
    ),
    "psum of one": SHARD + (
        "from jax.experimental.shard_map import shard_map\n"
        "out = jax.jit(shard_map(lambda x: x / jax.lax.psum(1, 'i'), mesh, P('i'), P('i')))(x)"
    ),
    "pjit as a decorator, by partial, over two axes": SHARD + MESHES + (
        "import functools\nfrom jax.experimental.pjit import pjit\n"
        "@functools.partial(pjit, in_shardings=(P('x', 'y'), P()), out_shardings=P('y'), static_argnums=(2,))\n"
        "def f(a, w, n):\n    return (a * w).sum(0) * n\n"
        "rows = x.reshape(4, 4)\nwith Mesh(devices, ('x', 'y')) as mesh:\n    out = f(rows, w, 3)"
    ),
    "pjit with axis resources": SHARD + (
        "from jax.experimental.pjit import pjit\n"
        "f = pjit(lambda x, w: x * w, in_axis_resources=(P('i'), None), out_axis_resources=None)\n"
        "with mesh:\n    out = f(x, w)"
    ),
    "PositionalSharding, as a grid": LAID + (
        "from jax.experimental import mesh_utils\n"
        "grid = PositionalSharding(mesh_utils.create_device_mesh((4, 2)))\nacross = grid.replicate(axis=0)\n"
        "parts = [jax.device_put(table, s) for s in ()] + [jax.device_put(table, grid), jax.device_put(table, grid.T),\n"
        "    jax.device_put(table, across), jax.device_put(table, grid.replicate(1)), jax.device_put(table[0], across.reshape(-1))]\n"
        "f = jax.jit(lambda a: jax.lax.with_sharding_constraint(a * 2, grid.reshape(8, 1)), out_shardings=grid)\n"
        "out = [parts, [layout(p) for p in [*parts, f(table)]]]"
    ),
    "PositionalSharding of devices out of sight": LAID + (
        "def put(a, devices):\n    sharding = PositionalSharding(devices)\n"
        "    return jax.device_put(a, sharding.reshape(len(devices), 1)), jax.device_put(a, sharding.replicate())\n"
        "parts = *put(table, jax.devices()), *put(table, np.array(jax.devices()))\n"
        "parts += (jax.device_put(table, PositionalSharding(np.array(jax.devices()[:4])).reshape(2, 2)),)\n"
        "out = [parts, [layout(p) for p in parts]]"
    ),
    "xmap with collectives over an axis that is split, whole or in part": XMAP + (
        "def f(a, w):\n"
        "    t = lax.pmean(a, 'b') + lax.axis_index('b') * w.sum() * lax.psum(1, 'b')\n"
        "    return t, lax.psum(a * a, 'b'), lax.pmax(a, 'b') * a\n"
        "f = xmap(f, (['b', ...], [...]), (['b', ...], [...], {1: 'b'}), axis_resources={'b': 'i'})\n"
        "with mesh:\n    out = f(jnp.sqrt(rows), jnp.ones(3)), f(rows, np.ones(3))"
    ),
    "xmap over an axis that is an axis of the mesh": XMAP + (
        "def f(a):\n"
        "    t = lax.all_gather(a, 'b') * 2 + lax.all_gather(a, 'b', axis=0, tiled=True).reshape(8, 4)\n"
        "    return t.sum(0) - lax.pmin(a, 'b'), lax.ppermute(a, 'b', [(i, (i + 3) % 8) for i in range(8)]), t\n"
        "f = xmap(f, ['b', ...], (['b', ...], ['b', ...], [...]), axis_resources={'b': 'i'})\n"
        "with mesh:\n    out = f(rows.reshape(8, 4))"
    ),
    "xmap over two axes of a mesh, named as these": XMAP + MESHES + (
        "mesh = Mesh(devices, ('x', 'y'))\n"
        "def f(a, w):\n    return a @ w - lax.pmean(a.sum(), ('x', 'y')), lax.psum(a, 'x') + lax.pmax(w.max(), 'y')\n"
        "f = xmap(f, in_axes=(['x', None, ...], {1: 'y'}), out_axes=(['y', 'x', ...], {1: 'y'}),\n"
        "    axis_resources={'x': 'x', 'y': 'y'})\n"
        "with mesh:\n    out = f(rows.reshape(4, 4, 2), rows.reshape(2, 4, 4))"
    ),
    "xmap without resources, with a size": XMAP + (
        "f = xmap(lambda tree, x: {'s': tree['w'] * lax.axis_index('n') + lax.psum(x, 'b')}, axis_sizes={'n': 3},\n"
        "    in_axes=({'w': [...]}, {0: 'b'}), out_axes={'s': ['n', ...]})\nout = f({'w': jnp.ones(2)}, rows)['s']"
    ),
    "xmap over two axes without collectives, one axis of them split by two": XMAP + MESHES + (
        "mesh = Mesh(devices, ('x', 'y'))\n"
        "f = xmap(lambda a, c: jnp.tanh(a) * c, in_axes=({1: 'r', 0: 'c'}, ['c']), out_axes=['r', 'c', ...],\n"
        "    axis_resources={'r': ('x', 'y')})\n"
        "with mesh:\n    out = f(rows.T.reshape(2, 16), jnp.arange(2.0))"
    ),
    "several names of one import": TREE + (
        "from jax import tree_map, tree_leaves as leaves, lax\nout = [lax.add(a, a) for a in leaves(tree_map(lambda x: x + 1, tree))]"
    ),
}  # fmt: skip

# No program can show these: nothing that they gave can be made otherwise, or no JAX that had them runs here.
CANNOT = {"jax.experimental.global_device_array.Mesh"}
