"""What programs look at on the host: device 0 alone, which lets arrays be global, or more, which must not."""

from __future__ import annotations

from tests.fuzz.grammar.choices import Choices
from tests.fuzz.grammar.trees import Leaf, Tree, Type, access, leaves

FIRST = (
    "{}[0]",
    "jax_utils.unreplicate({})",
    "np.asarray({}[0])",
    "jax.device_get({}[0])",
    "jax.tree.map(lambda x: x[0], {})",
    "jax.tree_util.tree_map(lambda a: a[0], {})",
    "first({})",
    "jax.device_get({})[0]",
    "np.asarray({})[0]",
    "{}[0].tolist()",
    "jnp.asarray({}[0]) * 2.0",
    "helpers.first({})",
)
FIRST_OF_TREE = (
    "jax_utils.unreplicate({})",
    "jax.tree.map(lambda x: x[0], {})",
    "jax.device_get(jax_utils.unreplicate({}))",
    "jax.device_get(jax.tree_util.tree_map(lambda a: a[0], {}))",
    "first({})",
    "helpers.first({})",
    "jax.tree.map(lambda x: np.asarray(x)[0], {})",
    "jax.tree.map(lambda x: x[0] * 2, {})",
)
WHOLE = (
    *("np.asarray({})", "np.mean({})", "{}.sum()", "jax.device_get({})", "np.asarray({}).std(0)", "{}.mean(0)"),
    *("{}.shape", "len({})", "{}[1]", "{}[-1]", "{}[:1]", "{}[0:2]", "[np.asarray(r) for r in {}]", "list({})[3]"),
    *("np.max({}, axis=0)", "jnp.sum({}, axis=0)", "jnp.concatenate(list({})) if {0}[0].ndim else {0}", "{}.ndim"),
    *(
        "{}.size",
        "np.sum(np.asarray({}))",
        "float(np.mean({}))",
        "sum(float(jnp.sum(r)) for r in {})",
        "{}.T",
        "{} * 2",
    ),
    *("{}[jnp.array([0, 2])]", "{}[..., 0]", "np.stack({})", "jnp.ravel({})", "np.argmax({})", "{}[{0}.shape[0] - 1]"),
    *(
        "next(iter({}))",
        "jnp.mean({}[:4])",
        "np.float32({}.mean())",
        "jax.tree.map(jnp.mean, {})",
        "max(map(float, jnp.ravel({})))",
    ),
    *("{}[0] + {0}[1]", "jnp.where({} > 0, {0}, 0).sum()", "np.array_equal({0}[0], {0}[1])", "jnp.squeeze({}).shape"),
    *("np.asarray({})[::-1]", "{0}.reshape(-1)[0]", "jax.vmap(jnp.sum)({})", "jax.jit(jnp.sum)({})", "np.median({})"),
    *("jax.tree.leaves({})[0].shape", "jnp.linalg.norm({})", "{}.at[0].get()", "{}.dtype", "np.copy({}).sum()"),
    *(
        "jnp.take({}, 0, axis=0)",
        "{}.item(0)",
        "jnp.swapaxes({}[None], 0, 1).shape",
        "[r.sum() for r in np.asarray({})]",
    ),
)
WHOLE_TREE = (
    *("jax.device_get({})", "jax.tree.map(np.mean, {})", "jax.tree.map(lambda x: x.sum(), {})", "jax.tree.leaves({})"),
    *("jax.tree.map(lambda x: x[1], {})", "jax.tree.map(lambda x: x.mean(0), {})", "jax.tree.map(jnp.shape, {})"),
    *(
        "[x.shape for x in jax.tree.leaves({})]",
        "sum(x.size for x in jax.tree.leaves({}))",
        "jax.tree.map(lambda x: x[-1], {})",
    ),
    *("jax.tree.map(lambda x: np.asarray(x), {})", "jax.tree.map(lambda x: x[:1], {})", "optax.global_norm({})"),
    *("flax.serialization.to_state_dict({})", "jax.tree.map(lambda x: x * 1, {})", "jax.tree.flatten({})[0]"),
    *(
        "jax.tree.reduce(lambda a, x: a + x.sum(), {}, 0.0)",
        "jax.tree.map(lambda *x: x[0], {})",
        "jax.vmap(lambda t: t)({})",
    ),
    *("jax.tree.map(lambda x, y: x[0] + y[1], {0}, {0})", "jax.tree.map(lambda x: x if x.ndim == 1 else x[0], {})"),
    *(
        "jax.tree.map(lambda x: x[0] if x.ndim > 1 else x, {})",
        "jax.tree.map(lambda x: x[0] if hasattr(x, 'ndim') else x, {})",
    ),
)
MERGED = (
    *("np.asarray({0}).reshape((-1,) + {0}.shape[2:])", "np.concatenate({})", "np.concatenate(np.asarray({}), axis=0)"),
    *("jax.device_get({0}).reshape((-1,) + {0}.shape[2:])", "jnp.reshape({0}, (-1,) + {0}.shape[2:])"),
    *("merged({})", "{0}.reshape(({0}.shape[0] * {0}.shape[1],) + {0}.shape[2:])", "jnp.concatenate({})"),
    *("np.asarray({0}).reshape(-1, *{0}.shape[2:])", "np.asarray({0}).ravel()", "np.vstack({})"),
)
NUMBER = (
    "float({}[0])",
    "{}[0].item()",
    "float(jax_utils.unreplicate({}))",
    "'%.6g' % float({}[0])",
    "np.float32({}[0])",
)


def observed(choices: Choices, expression: str, type_: Type, hostile: int, rows: bool = False) -> str:
    """An expression over a stacked value; `hostile` is the percentage of those that see more than device 0."""
    whole = choices.chance(hostile)
    if isinstance(type_, Leaf):
        if type_.kind == "key":
            return f"np.asarray({expression})[{choices.pick(('0', '1', ':'))}]"
        options: tuple[str, ...] = WHOLE if whole else MERGED if rows and type_.shape else FIRST
        if not whole and not type_.shape and choices.chance(50):
            options = NUMBER
        return choices.pick(options).replace("{}", "{0}").format(expression)
    if choices.chance(45):
        found = [(code, leaf) for code, leaf in leaves(type_, expression) if leaf.kind == "f"]
        code, leaf = choices.pick(found)
        if not whole and choices.chance(30):
            taken = choices.pick(("jax_utils.unreplicate({})", "first({})")).format(expression)
            return choices.pick([c for c, inner in leaves(type_, taken) if inner.kind == "f"])
        return observed(choices, code, leaf, 100 if whole else 0)
    return choices.pick(WHOLE_TREE if whole else FIRST_OF_TREE).replace("{}", "{0}").format(expression)


def field_expressions(expression: str, tree: Tree) -> list[str]:
    """The expressions of a container's fields."""
    return [access(expression, tree, name) for name, _ in tree.fields]
