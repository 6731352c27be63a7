"""What is known of functions outside the project: which are functions of their arguments alone, and what they give.

A name in none of these tables may do anything.
"""

from __future__ import annotations

from jaxmigrate.program.resolve import Resolver

PURE = (
    "jax.numpy.", "jax.lax.", "jax.nn.", "jax.random.", "jax.scipy.", "jax.image.", "jax.tree.", "jax.tree_util.",
    "jax.tree_", "jax.ops.", "jax.dtypes.", "jax.ad_checkpoint.", "jax.flatten_util.", "jax.debug.", "jax.util.",
    "jax.example_libraries.", "jax.experimental.optimizers.", "jax.experimental.stax.", "jax.experimental.sparse.",
    "optax.", "flax.linen.", "flax.core.", "flax.training.", "flax.traverse_util.", "flax.serialization.",
    "flax.struct.", "flax.optim.", "flax.jax_utils.", "flax.deprecated.", "flax.nn.", "chex.", "numpy.", "math.",
    "operator.", "functools.", "itertools.", "dataclasses.", "collections.", "copy.", "einops.", "distrax.", "rlax.",
    "ml_collections.", "typing.", "re.", "absl.logging.", "logging.", "warnings.",
    "tensorflow_probability.substrates.jax.",
    "numpyro.distributions.", "jmp.", "jaxtyping.", "opt_einsum.", "enum.", "types.", "abc.", "dm_pix.",
    "haiku.initializers.", "haiku.data_structures.", "haiku.transform", "haiku.without_apply_rng", "haiku.one_hot",
    "haiku.dropout", "haiku.max_pool", "haiku.avg_pool", "haiku.data", "haiku.Linear", "haiku.Conv", "haiku.nets.",
)  # fmt: skip
PURE_NAMES = frozenset(
    f"jax.{name}"
    for name in (
        "Array", "ShapeDtypeStruct", "block_until_ready", "checkpoint_name", "closure_convert", "default_backend",
        "device_count", "device_get", "device_put", "ensure_compile_time_eval", "eval_shape", "named_scope",
        "process_count", "host_count", "typeof", "make_jaxpr", "local_device_count", "devices",
        "default_matmul_precision",
        "disable_jit", "enable_x64", "profiler.annotate_function", "profiler.TraceAnnotation", "core.ShapedArray",
    )
)  # fmt: skip
IMPURE = (
    "builtins.eval", "builtins.exec", "builtins.globals", "builtins.locals", "builtins.vars", "builtins.compile",
    "builtins.__import__", "operator.i", "operator.setitem", "operator.delitem", "numpy.copyto", "numpy.put",
    "numpy.place", "numpy.fill_diagonal", "numpy.lib", "operator.methodcaller",
    "numpy.random", "numpy.load", "numpy.fromfile", "numpy.loadtxt", "numpy.genfromtxt", "numpy.memmap", "numpy.empty",
    "jax.lax.ragged_all_to_all", "jax.lax.pgather", "jax.lax.psend", "jax.lax.precv", "jax.lax.pdot", "jax.lax.infeed",
    "jax.lax.pbroadcast", "jax.lax.all_gather_reduced", "jax.lax.unreduced_psum", "jax.lax.create_token",
    "jax.lax.rng_bit_generator_unsafe", "jax.lax.rng_uniform", "flax.jax_utils.prefetch", "flax.training.checkpoints",
    "flax.training.prefetch", "jax.debug.key_reuse", "flax.linen.Module", "collections.abc",
)  # fmt: skip
HOST_IDENTITIES = (  # what tells which process it is, whatever else it does
    "jax.process_index", "jax.host_id", "jax.process_indices", "jax.lib.xla_bridge.process_index", "jax.local_devices",
    "jax.host_ids", "jax.lib.xla_bridge.host_id", "os.getpid", "os.environ", "os.getenv", "uuid.", "socket.",
    "jax.pure_callback", "jax.experimental.io_callback", "jax.experimental.host_callback",
    "jax.experimental.multihost_utils", "jax.distributed",
)  # fmt: skip
HOST_SOURCES = (  # what processes may not agree on
    *HOST_IDENTITIES, "time.", "random.", "numpy.random.", "os.urandom", "secrets.", "datetime.", "builtins.id",
    "builtins.hash", "builtins.input", "builtins.open", "builtins.next",
)  # fmt: skip
FLAGS = "absl.flags.FLAGS."  # strings, numbers and configurations, which every process is given alike
FLAG_METHODS = frozenset(
    {
        "copy_and_resolve_references", "count", "endswith", "format", "get", "items", "join", "keys", "lower",
        "replace", "split", "startswith", "strip", "title", "to_dict", "upper", "values",
    }
)  # fmt: skip
SHARED = frozenset({"jax.lax.all_gather", "jax.lax.all_gather_invariant"})  # every device gets the same
SPREADING = frozenset(f"jax.lax.{name}" for name in ("all_to_all", "ppermute", "pshuffle", "pswapaxes", "psum_scatter"))

EQUAL_RESULTS = frozenset(
    {
        *(f"jax.numpy.{n}" for n in ("zeros_like", "ones_like", "empty_like", "shape", "ndim", "size", "result_type")),
        *(f"numpy.{n}" for n in ("zeros_like", "ones_like", "shape", "ndim", "size", "result_type")),
        "jax.numpy.iscomplexobj", "jax.numpy.issubdtype", "jax.dtypes.issubdtype", "jax.tree.structure",
        "jax.tree_util.tree_structure", "jax.tree_structure", "jax.eval_shape", "jax.lax.axis_size", "builtins.len",
        "builtins.isinstance", "builtins.issubclass", "builtins.hasattr", "builtins.callable", "builtins.type",
        "builtins.print", "jax.debug.print", "jax.debug.callback", "jax.debug.breakpoint", "builtins.super",
        "jax.lax.zeros_like_array", "jax.typeof", "jax.process_count", "jax.device_count", "jax.local_device_count",
        "jax.host_count", "jax.default_backend", "jax.lax.full_like_shape",
    }
)  # fmt: skip
SILENT = ("logging.", "absl.logging.", "warnings.", "chex.assert", "jax.debug.", "wandb.", "builtins.print")

TRANSPARENT = frozenset(
    {
        "jax.jit", "jax.checkpoint", "jax.remat", "jax.named_call", "jax.named_scope", "jax.ad_checkpoint.checkpoint",
        "jax.profiler.annotate_function", "jax.custom_vjp", "jax.custom_jvp", "functools.lru_cache", "functools.cache",
        "functools.wraps", "chex.chexify", "jax.custom_derivatives.custom_vjp", "jax.custom_derivatives.custom_jvp",
        "jax.numpy.vectorize", "jax.closure_convert", "chex.assert_max_traces", "jax.experimental.pjit.pjit",
        "jax.default_matmul_precision", "jax.enable_custom_prng", "jax.interpreters.ad.custom_jvp",
    }
)  # fmt: skip
NAMED_TUPLES = frozenset({"typing.NamedTuple", "typing_extensions.NamedTuple"})
CUSTOM = frozenset({"jax.custom_vjp", "jax.custom_jvp", "jax.custom_gradient", "jax.custom_derivatives.custom_vjp"})
GRADIENTS = frozenset({"jax.grad", "jax.value_and_grad"})
JACOBIANS = frozenset({"jax.hessian", "jax.jacfwd", "jax.jacrev", "jax.jacobian"})
VMAPS = frozenset({"jax.vmap", "jax.pmap"})
TRANSFORMS = TRANSPARENT | GRADIENTS | JACOBIANS | VMAPS | {"jax.custom_gradient"}

PRESERVING = frozenset(
    {
        "flax.core.freeze", "flax.core.unfreeze", "flax.core.frozen_dict.freeze", "flax.core.frozen_dict.unfreeze",
        "jax.lax.stop_gradient", "copy.copy", "copy.deepcopy", "jax.lax.optimization_barrier", "jax.block_until_ready",
        "jax.lax.pvary", "jax.lax.pcast", "jax.device_put", "jax.device_get", "builtins.tuple", "builtins.list",
        "builtins.sorted", "builtins.reversed", "builtins.iter", "typing.cast", "flax.core.FrozenDict",
        "flax.core.frozen_dict.FrozenDict", "jax.lax.with_sharding_constraint", "jax.tree.leaves_with_path_",
    }
)  # fmt: skip
ARRAYS = ("jax.numpy.", "jax.nn.", "jax.random.", "jax.scipy.", "math.", "jax.ops.", "jax.image.", "jax.lax.")
NUMBERS = frozenset(f"jax.numpy.{n}" for n in ("sum", "mean", "max", "min", "linalg.norm"))  # of all axes, unless told
NOT_ARRAYS = frozenset(
    {
        *(
            f"jax.numpy.{n}"
            for n in (
                "split", "array_split", "hsplit", "vsplit", "dsplit", "unstack", "meshgrid", "nonzero", "unique",
                "where",
                "broadcast_arrays", "frexp", "modf", "divmod", "histogram", "histogram2d", "gradient", "ix_", "indices",
                "linalg.svd", "linalg.eigh", "linalg.eig", "linalg.qr", "linalg.slogdet", "linalg.lstsq", "average",
                "finfo", "iinfo", "shape", "ogrid", "mgrid", "polyfit", "tril_indices", "triu_indices", "diag_indices",
                "unravel_index", "atleast_1d", "atleast_2d", "atleast_3d", "dtype",
            )
        ),
        *(
            f"jax.lax.{n}"
            for n in ("top_k", "approx_max_k", "approx_min_k", "sort", "sort_key_val", "reduce", "map", "scan", "cond",
                      "while_loop", "fori_loop", "switch", "associative_scan", "custom_root", "reduce_window",
                      "custom_linear_solve", "linalg.svd", "linalg.eigh", "linalg.qr", "linalg.lu", "linalg.eig",
                      "select", "platform_dependent", "stop_gradient", "broadcast_shapes", "GatherDimensionNumbers",
                      "linalg.schur", "optimization_barrier", "conv_dimension_numbers", "composite")
        ),
        "jax.scipy.linalg.lu_factor", "jax.scipy.linalg.cho_factor", "jax.scipy.linalg.lu", "jax.scipy.linalg.svd",
        "jax.scipy.sparse.linalg.cg", "jax.scipy.sparse.linalg.gmres", "jax.scipy.optimize.minimize",
        "jax.scipy.linalg.qr", "jax.scipy.linalg.eigh", "jax.scipy.special.logsumexp", "jax.nn.logsumexp",
    }
)  # fmt: skip

ARRAY_METHODS = frozenset(
    {
        "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "copy", "cumprod", "cumsum", "diagonal", "dot",
        "flatten", "max", "mean", "min", "prod", "ravel", "repeat", "reshape", "round", "sort", "squeeze", "std", "sum",
        "swapaxes", "take", "transpose", "var", "item", "conj", "ptp", "trace", "searchsorted", "view",
        "block_until_ready",
        "tolist", "compress", "choose", "nonzero", "to", "bit_length",
    }
)  # fmt: skip
MUTATORS = frozenset(
    {
        "append", "extend", "insert", "add", "update", "setdefault", "remove", "discard", "clear", "sort", "reverse",
        "popitem", "pop", "appendleft", "extendleft", "put", "write", "__setitem__", "__setattr__", "fill",
    }
)  # fmt: skip
IMPURE_METHODS = frozenset(
    {
        "normal", "uniform", "rand", "randn", "randint", "choice", "permutation", "shuffle", "random", "integers",
        "standard_normal", "now", "time", "today", "next", "read", "readline", "get_next", "__next__", "popleft",
        "recv",
        "random_sample", "seed", "getrandbits", "sample_batch", "make_rng", "variable", "param", "get_variable",
        "put_variable", "sow", "has_rng", "next_rng_key", "is_initializing",
    }
)  # fmt: skip
DRAWS = frozenset(
    f"jax.random.{name}"
    for name in (
        "ball", "bernoulli", "beta", "bits", "categorical", "cauchy", "choice", "dirichlet", "exponential", "gamma",
        "gumbel", "laplace", "logistic", "multivariate_normal", "normal", "permutation", "poisson", "rademacher",
        "randint", "shuffle", "truncated_normal", "uniform",
    )
)  # fmt: skip

DRAWN_SHAPES = {  # where each takes the shape of what it draws: that of its other arguments, or (), by default
    "bits": 1, "cauchy": 1, "exponential": 1, "gumbel": 1, "laplace": 1, "logistic": 1, "normal": 1, "rademacher": 1,
    "randint": 1, "uniform": 1, "bernoulli": 2, "gamma": 2, "poisson": 2, "beta": 3, "truncated_normal": 3,
}  # fmt: skip


def is_pure(name: str) -> bool:
    """Whether a function outside the project is a function of its arguments alone."""
    if name.startswith(IMPURE):
        return False
    if name.startswith(FLAGS):
        return name.rpartition(".")[2] in FLAG_METHODS
    return name in PURE_NAMES or name.startswith(PURE) or name.startswith("builtins.")


def is_host_source(name: str) -> bool:
    """Whether a function outside the project gives what may differ between processes."""
    return name.startswith(HOST_SOURCES)


def change(resolver: Resolver, name: str) -> None:
    """Notes that a program sets an attribute of a library: nothing is known of it any more, nor of what is in it."""
    changed = resolver.remembered.setdefault("changed", set())
    assert isinstance(changed, set)
    changed.add(name)


def is_changed(resolver: Resolver, name: str) -> bool:
    """Whether a name of a library may stand for what a program has put there."""
    changed = resolver.remembered.get("changed")
    return isinstance(changed, set) and any(f"{name}.".startswith(f"{one}.") for one in changed)
