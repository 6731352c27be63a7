"""What is known of functions outside the project: which are functions of their arguments alone, and what they give.

A name in none of these tables may do anything.
"""

from __future__ import annotations

from jaxmigrate.program.library import named, starting, valued
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver

PURE = starting("pure")
PURE_NAMES = named("pure")
IMPURE = starting("impure")
HOST_IDENTITIES = starting("host-identity")  # what tells which process it is, whatever else it does
HOST_SOURCES = (*HOST_IDENTITIES, *starting("host-source"))  # what processes may not agree on
ON_DEVICE = starting("on-device")
FLAGS = "absl.flags.FLAGS."  # strings, numbers and configurations, which every process is given alike
FLAG_METHODS = frozenset(
    {
        "copy_and_resolve_references", "count", "endswith", "format", "get", "items", "join", "keys", "lower",
        "replace", "split", "startswith", "strip", "title", "to_dict", "upper", "values",
    }
)  # fmt: skip
SHARED = named("shared")  # every device gets the same

EQUAL_RESULTS = named("equal")
SILENT = starting("silent")

TRANSPARENT = named("same-call", "transparent")
NAMED_TUPLES = named("named-tuple")
FUNCTIONS_OF = valued("functions")
CUSTOM = named("custom-rule")
JACOBIANS = named("jacobian")
VMAPS = named("vmap", "like-vmap", "pmap")
AVERAGES = named("averages-gradient", "averages-update")
TRANSFORMS = named("same-call", "transparent", "custom-gradient", "gradient", "jacobian") | VMAPS | AVERAGES
CALLS = named("calls")

PRESERVING = named("preserving")
ARRAYS = starting("array")
NUMBERS = named("number")  # of all axes, unless told
NOT_ARRAYS = named("not-array")

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
DRAWS = named("draws")

# where each takes the shape of what it draws: that of its other arguments, or (), by default
DRAWN_SHAPES = {name.rpartition(".")[2]: int(position) for name, position in valued("shape").items()}


def is_pure(name: str) -> bool:
    """Whether a function outside the project is a function of its arguments alone."""
    if name.startswith(IMPURE):
        return False
    if name.startswith(FLAGS):
        return name.rpartition(".")[2] in FLAG_METHODS
    return name in PURE_NAMES or name.startswith(PURE)


def is_host_source(name: str) -> bool:
    """Whether a function outside the project gives what may differ between processes."""
    return name.startswith(HOST_SOURCES)


def may_tell_devices(name: str) -> bool:
    """Whether a function outside the project may well give what differs, for all that its name says.

    It belongs to a library that knows axes and keys, or is known not to be a function of its arguments alone.
    """
    return name.startswith((*IMPURE, *HOST_SOURCES, *ON_DEVICE))


def change(resolver: Resolver, name: str) -> None:
    """Notes that a program sets an attribute of a library: nothing is known of it any more, nor of what is in it."""
    _changed(resolver).add(name)


def is_changed(resolver: Resolver, name: str) -> bool:
    """Whether a name of a library may stand for what a program has put there."""
    return any(f"{name}.".startswith(f"{one}.") for one in _changed(resolver))


@once
def _changed(_resolver: Resolver) -> set[str]:
    """The names of libraries that a program sets."""
    return set()
