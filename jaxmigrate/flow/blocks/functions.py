"""What functions of JAX and numpy do to the dimensions of arrays."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.program.library import starting, valued

_OF_ONE = (
    "abs absolute exp expm1 log log1p log2 sqrt square sin cos tan tanh sinh cosh negative sign floor ceil round real "
    "imag conj conjugate isnan isfinite isinf logical_not cumsum cumprod nan_to_num zeros_like ones_like full_like "
    "empty_like flip sort argsort clip copy positive reciprocal"
)
_ACTIVATIONS = (
    "relu relu6 silu swish gelu sigmoid softplus softmax log_softmax elu selu leaky_relu log_sigmoid soft_sign celu"
)
_LAX = "stop_gradient psum pmean pmax pmin ppermute pcast pvary pshuffle optimization_barrier rsqrt exp log neg"
_OF_TWO = (
    "add subtract multiply divide true_divide maximum minimum power where equal not_equal less less_equal greater "
    "greater_equal logical_and logical_or mod remainder arctan2 hypot"
)
_SUMS = "sum mean max min prod any all std var median argmax argmin amax amin nansum nanmean count_nonzero"


def _of(prefixes: tuple[str, ...], words: str) -> Iterator[str]:
    return (f"{prefix}.{word}" for prefix in prefixes for word in words.split())


_ARRAYS = ("jax.numpy", "numpy")
SAME = frozenset([*_of(_ARRAYS, _OF_ONE), *_of(("jax.nn",), _ACTIVATIONS), *_of(("jax.lax",), _LAX), "jax.device_put"])
NORMALISING = frozenset(_of(("jax.nn",), "softmax log_softmax standardize"))
STATISTICS = frozenset({"sum", "mean", "std", "var", "nansum", "nanmean", "logsumexp"})
SUMMING = frozenset({"sum", "nansum", "mean", "nanmean"})
AVERAGING = frozenset({"mean", "nanmean"})
_NOT_LINEAR = "abs absolute exp expm1 log log1p sqrt square sin cos tan tanh sinh cosh reciprocal sign"
CURVED = frozenset(
    [*_of(_ARRAYS, _NOT_LINEAR), *_of(("jax.nn",), f"{_ACTIVATIONS} logsumexp"), *_of(("jax.lax",), "rsqrt exp log")]
)
TOGETHER = frozenset(_of(_ARRAYS, _OF_TWO))
REDUCING = frozenset([*_of(_ARRAYS, _SUMS), "jax.nn.logsumexp", "jax.scipy.special.logsumexp"])
PRODUCTS = frozenset(_of(_ARRAYS, "matmul dot"))
GATHERS = frozenset({"jax.lax.all_gather"})
EXCHANGE = "jax.lax.all_to_all"
RANKS = {
    **dict.fromkeys(_of(_ARRAYS, "arange linspace"), 1),
    **dict.fromkeys(_of(_ARRAYS, "eye identity"), 2),
    **dict.fromkeys(_of(("jax.lax",), "axis_index axis_size"), 0),
    "optax.global_norm": 0,
}
SHAPED = {
    **dict.fromkeys(_of(_ARRAYS, "zeros ones empty full"), 0),
    **{name: int(position) for name, position in valued("shape").items() if name.startswith("jax.random.")},
}
ONE_HOT = "jax.nn.one_hot"
SLICING = frozenset({"jax.lax.dynamic_slice_in_dim", "jax.lax.dynamic_slice"})
CHOOSING = {
    "jax.lax.dynamic_index_in_dim": 0,
    "jax.lax.index_in_dim": 0,
    "jax.numpy.take": -1,
}  # and along what, if not told
LAYERS = starting("layers")  # of libraries
SAME_LAYERS = frozenset(
    {"Dense", "Linear", "LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm", "Dropout", "Conv", "Conv1D", "Conv2D"}
)
DRAWING_METHODS = frozenset({"normal", "uniform", "integers", "random", "standard_normal", "randint", "choice"})
SAME_METHODS = frozenset({"astype", "copy", "conj", "block_until_ready", "clip", "round", "cumsum"})
REDUCING_METHODS = frozenset({"sum", "mean", "max", "min", "prod", "any", "all", "std", "var", "argmax", "argmin"})
