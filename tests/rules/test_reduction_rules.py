"""JM202 to JM206: reductions too many, keys shared and statistics apart, and what looks like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode, read_source

PRELUDE = """
import functools
import elsewhere, jax, optax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
mesh = Mesh(jax.devices(), ("i",))
net = elsewhere.Net()
def loss_fn(w, x): return jnp.mean((w * x) ** 2)
def total_loss(w, x): return lax.psum(jnp.sum((w * x) ** 2), "i") / lax.psum(x.size, "i")
def mean_loss(w, x): return lax.pmean(loss_fn(w, x), "i")
"""


def found(text: str, groups: tuple[str, ...] = ("JM2",), name: str = "a.py") -> list[str]:
    """The codes of the findings in a text, in the order of lines."""
    sources = [decode((PRELUDE + text).encode(), name, Path("/project") / name)]
    return [finding.code for finding in lint(sources, Config()) if finding.code.startswith(groups)]


PMAP = "p = jax.pmap(f, axis_name='i', in_axes=(None, 0))\n"
CHECKED = "p = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=(P(), P('i')), out_specs=P()))\n"
UNCHECKED = CHECKED.replace("out_specs=P()", "out_specs=P(), check_vma=False")


@pytest.mark.parametrize("mapped", [PMAP, UNCHECKED])
@pytest.mark.parametrize(
    ("body", "codes"),
    [
        # JM202
        ("return lax.psum(lax.psum(x, 'i'), 'i')", ["JM202"]),
        ("y = lax.pmean(x, 'i')\n    return jax.tree.map(lambda v: lax.psum(v, axis_name='i'), {'a': y})", ["JM202"]),
        ("l, g = jax.value_and_grad(loss_fn)(w, x)\n    l, g = lax.pmean((l, g), 'i')\n    return lax.psum(l, 'i')",
         ["JM202"]),
        ("return lax.psum(mean_loss(w, x), 'i')", ["JM202"]),
        ("return lax.psum(optax.global_norm(lax.pmean(x, 'i')), 'i')", ["JM202"]),
        ("return lax.psum(x, 'i') / lax.psum(1, 'i')", []),
        ("return lax.pmean(x - lax.pmean(x, 'i'), 'i')", []),
        ("return lax.psum(lax.axis_index('i') * lax.pmax(x, 'i'), 'i')", []),
        ("return lax.psum(w, 'i')", ["JM207"]),
        ("return lax.psum(jax.vmap(lambda v: lax.psum(v, 'b'), axis_name='b')(x), 'i')", []),
        ("return lax.fori_loop(0, 3, lambda k, v: lax.psum(v * x, 'i'), w)", []),
        # JM203
        ("return lax.psum(jax.grad(total_loss)(w, x), 'i')", ["JM203"]),
        ("l, g = jax.value_and_grad(mean_loss)(w, x)\n    return l, lax.psum(g, 'i')", ["JM203"]),
        ("g = jax.grad(total_loss)(w, x)\n    return jax.tree.map(lambda v: lax.psum(v, 'i'), g)", ["JM203"]),
        ("return lax.pmean(jax.grad(total_loss)(w, x), 'i')", []),
        ("return lax.psum(jax.grad(loss_fn)(w, x), 'i')", []),
    ],
)  # fmt: skip
def test_reductions_too_many(mapped: str, body: str, codes: list[str]) -> None:
    assert found(f"def f(w, x):\n    {body}\n{mapped}") == codes


@pytest.mark.parametrize(
    ("mapped", "body", "codes"),
    [
        (CHECKED, "return lax.pmean(jax.grad(loss_fn)(w, x), 'i')", ["JM204"]),
        (CHECKED, "l, g = jax.value_and_grad(loss_fn)(w, x)\n    return lax.psum(g, 'i')", ["JM204"]),
        (CHECKED, "g = jax.grad(loss_fn)(w, x)\n    return jax.tree.map(lambda v: lax.pmean(v, 'i'), g)", ["JM204"]),
        (CHECKED, "return jax.grad(mean_loss)(w, x)", []),
        (CHECKED, "return lax.pmean(jax.grad(mean_loss)(w, x), 'i')", []),
        (CHECKED, "return lax.pmean(jax.grad(loss_fn, argnums=1)(w, x), 'i')", []),
        (CHECKED.replace("(P(), ", "(P('i'), "), "return lax.pmean(jax.grad(loss_fn)(w, x), 'i')", []),
        (UNCHECKED, "return lax.pmean(jax.grad(loss_fn)(w, x), 'i')", []),
        (PMAP, "return lax.pmean(jax.grad(loss_fn)(w, x), 'i')", []),
        (UNCHECKED.replace("False", "CHECK"), "return lax.pmean(jax.grad(loss_fn)(w, x), 'i')", []),
    ],
)  # fmt: skip
def test_gradients_that_shard_map_has_summed(mapped: str, body: str, codes: list[str]) -> None:
    assert found(f"def f(w, x):\n    {body}\n{mapped}") == codes


def test_networks_of_tests_that_draw_nothing() -> None:
    text = (
        "def f(w, x, key): return lax.pmean(net.apply(w, key, x), 'i')\np = jax.pmap(f, 'i', in_axes=(None, 0, None))\n"
    )
    assert found(text) == ["JM205"]
    assert found(text, name="test_a.py") == []
    assert found(text + "# with hk.dropout\n", name="test_a.py") == ["JM205"]


@pytest.mark.parametrize(
    ("layer", "codes"),
    [("hk.Linear(8)(x)", []), ("hk.dropout(hk.next_rng_key(), 0.1, x)", ["JM205"])],
)
def test_networks_of_a_program_that_draw_nothing(layer: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text(f"import haiku as hk\ndef layer(x): return {layer}\n")
    (tmp_path / "nets.py").write_text("import haiku as hk\nimport layers\nnet = hk.transform(layers.layer)\n")
    step = "import jax, nets\ndef f(w, x, key): return jax.lax.pmean(nets.net.apply(w, key, x), 'i')\n"
    (tmp_path / "train.py").write_text(step + "p = jax.pmap(f, 'i', in_axes=(None, 0, None))\n")
    sources = [read_source(path, path.name) for path in sorted(tmp_path.iterdir())]
    assert [finding.code for finding in lint(sources, Config())] == codes


def test_gradients_of_a_loss_that_is_the_same_everywhere_need_no_reduction() -> None:
    step = """
def f(w, x):
    l, g = lax.pmean(jax.value_and_grad(loss_fn)(w, x), "i")
    decay = jax.grad(lambda v: 0.1 * jnp.sum(v ** 2))(w)
    return w - jax.tree.map(jnp.add, g, decay), l
"""
    step += "p = jax.pmap(f, axis_name='i')\n"
    assert found(step) == []
    apart = step.replace('lax.pmean(jax.value_and_grad(loss_fn)(w, x), "i")', "jax.value_and_grad(loss_fn)(w, x)")
    assert found(apart.replace(", l\n", ", lax.pmean(l, 'i')\n")) == ["JM201"]


@pytest.mark.parametrize("mapped", [PMAP, UNCHECKED, CHECKED])
@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("return lax.psum(x + jax.random.normal(w, x.shape), 'i')", ["JM205"]),
        ("a, b = jax.random.split(w)\n    return lax.psum(x * jax.random.bernoulli(b, 0.5, x.shape), 'i')", ["JM205"]),
        ("k = jax.random.fold_in(w, lax.axis_index('i'))\n    return lax.psum(x + jax.random.normal(k), 'i')", []),
        ("k = jax.random.fold_in(w, x[0])\n    return lax.psum(x + jax.random.normal(k), 'i')", []),
        ("return lax.psum(x + jax.random.normal(jax.random.PRNGKey(0)), 'i')", []),
        ("return x + jax.random.normal(w, x.shape)", ["JM205"]),
        ("return jax.random.normal(w, (3,))", []),  # the same on purpose: nothing here differs
        ("return lax.psum(net.apply(x, rngs={'dropout': w}), 'i')", ["JM205"]),
        ("return lax.psum(net.apply(x, rngs={'dropout': w}, train=False), 'i')", []),
        ("return lax.psum(net.apply(x, rngs={'dropout': jax.random.split(w)[lax.axis_index('i')]}), 'i')", []),
    ],
)
def test_keys_that_all_devices_share(mapped: str, body: str, codes: list[str]) -> None:
    assert [code for code in found(f"def f(w, x):\n    {body}\n{mapped}") if code == "JM205"] == codes


KEYS = """
from flax import jax_utils
def f(state, key, x):
    {fold}
    step_key = jax.random.fold_in(key, state.step)
    y = net.apply(state.params, step_key, x)
    return state.replace(step=state.step + 1), lax.pmean(y, 'i')
def make(): return jax.pmap(f, axis_name='i')
def main(state, batches):
    state, key = init(state), jax.random.PRNGKey(0)
    {keys}
    state = jax_utils.replicate(state)
    step = make()
    for x in batches:
        state, y = step(state, key, x)
"""


@pytest.mark.parametrize(
    ("fold", "keys", "codes"),
    [
        ("pass", "key = jax_utils.replicate(key)", ["JM205"]),
        ("pass", "key = jnp.stack([key] * 8)", ["JM205"]),
        ("pass", "key = jax.tree.map(lambda a: jnp.broadcast_to(a, (8,) + a.shape), key)", ["JM205"]),
        ("key = jax.random.fold_in(key, lax.axis_index('i'))", "key = jax_utils.replicate(key)", []),
        ("pass", "key = jax.random.split(key, 8)", []),
        ("pass", "pass", []),
    ],
)
def test_keys_that_calls_replicate(fold: str, keys: str, codes: list[str]) -> None:
    assert [code for code in found(KEYS.format(fold=fold, keys=keys)) if code == "JM205"] == codes


PASSED = """
from flax import jax_utils
def f(params, key, x): return {body}
{maps}
def main(params, x, net):
    key = jax.random.PRNGKey(0)
    {keys}
    {call}
"""
MADE = """
def make(net):
    def sample(params, key, x): return net.sample(params, key, x)
    def timed(params, key, x): return jax.pmap(sample)(params, key, x)
    return timed
"""
SPLIT = "both = jax.pmap(lambda k: tuple({}), axis_name='i')\np = jax.pmap(f)"
DRAWN = "x + jax.random.normal(key, x.shape)"


@pytest.mark.parametrize(
    ("body", "maps", "keys", "call", "codes"),
    [
        (DRAWN, "p = jax.pmap(f)", "keys = jnp.stack([key] * 8)", "p(params, keys, x)", ["JM205"]),
        (DRAWN, "p = jax.pmap(f)", "keys = jnp.stack([key] * 8)", "p(params, x=x, key=keys)", ["JM205"]),
        (DRAWN, "p = jax.pmap(f)", "keys = jax.random.split(key, 8)", "p(params, x=x, key=keys)", []),
        (DRAWN, "", "keys = jax_utils.replicate(key)", "jax.pmap(f)(params, keys, x)", ["JM205"]),
        (DRAWN, "p = jax.pmap(f)\ndef through(step, a, b): return step(1, a, b)", "keys = jnp.stack([key] * 8)",
         "through(p, keys, x)", ["JM205"]),
        (DRAWN, "p = jax.pmap(f)\ndef many(key):\n    print(key)\n    return jnp.stack([key] * 8)",
         "keys = many(key)", "p(params, keys, x)", ["JM205"]),
        ("0", MADE, "keys = jnp.stack([key] * 8)\n    run = make(net)", "run(params, keys, x)", ["JM205"]),
        ("0", MADE, "keys = jax.random.split(key, 8)\n    run = make(net)", "run(params, keys, x)", []),
        ("0", MADE.replace(".sample(", ".init("), "keys = jnp.stack([key] * 8)\n    run = make(net)",
         "run(params, keys, x)", []),
        ("0", MADE.replace("net.sample(params, key, x)", "net.State(params, key, x)"),
         "keys = jnp.stack([key] * 8)\n    run = make(net)", "run(params, keys, x)", []),
        (DRAWN, "p = jax.pmap(f)", "keys = jax.random.split(key, 8)",
         "p(params, keys, x)\n    keys = jnp.stack([key] * 8)\n    p(params, keys, x)", ["JM205"]),
        (DRAWN, "p = jax.pmap(f)", "keys = jnp.stack([key] * 8)\n    keys = jax.random.split(key, 8)",
         "p(params, keys, x)", []),
        (DRAWN, SPLIT.format("jax.random.split(k)"), "keys = jnp.stack([key] * 8)\n    keys, mine = both(keys)",
         "p(params, mine, x)", ["JM205"]),
        (DRAWN, SPLIT.format("jax.random.split(jax.random.fold_in(k, lax.axis_index('i')))"),
         "keys = jnp.stack([key] * 8)\n    keys, mine = both(keys)", "p(params, mine, x)", []),
        (DRAWN, SPLIT.format("jax.random.split(k)"), "keys = jax.random.split(key, 8)\n    keys, mine = both(keys)",
         "p(params, mine, x)", []),
        ("0", MADE.replace("net.sample(params, key, x)", "net(params).sample(seed=key) + x"),
         "keys = jnp.stack([key] * 8)\n    run = make(net)", "run(params, keys, x)", ["JM205"]),
        ("0", MADE.replace("return net.sample(params, key, x)",
                           "\n        reset_keys = jax.random.split(key, 4)\n        return net.reset(reset_keys) + x"),
         "keys = jnp.stack([key] * 8)\n    run = make(net)", "run(params, keys, x)", ["JM205"]),
    ],
)  # fmt: skip
def test_ways_by_which_one_key_reaches_all_devices(
    body: str, maps: str, keys: str, call: str, codes: list[str]
) -> None:
    assert found(PASSED.format(body=body, maps=maps, keys=keys, call=call)) == codes


SMOKE = """
import jax, jax.numpy as jnp
from {home} import p
def smoke(params, x):
    return p(params, jnp.stack([jax.random.PRNGKey(0)] * 8), x)
"""


METHODS = """
from functools import partial
from flax import jax_utils, struct
class Trainer(struct.PyTreeNode):
    rng: jax.Array
    params: dict
    @classmethod
    def create(cls, params): return cls(rng=jax.random.PRNGKey(0), params=params)
    @partial(jax.pmap, axis_name="i")
    def update(self, x):
        rng, key = jax.random.split(self.rng)
        {fold}
        loss = lax.pmean(jnp.mean(x * jax.random.normal(key, x.shape)), "i")
        return self.replace(rng=rng), loss
def main(params, batches, config):
    config.update(params)
    trainer = {made}
    {state}
    for x in batches:
        trainer, loss = trainer.update({given})
"""
NEW = "Trainer(jax.random.PRNGKey(0), params)"
ONE = "trainer = jax_utils.replicate(trainer)"


@pytest.mark.parametrize(
    ("fold", "made", "state", "given", "codes"),
    [
        ("pass", NEW, ONE, "x", ["JM205"]),
        ("pass", "Trainer.create(params)", ONE, "x", ["JM205"]),
        ("pass", NEW, f"trainer = load(trainer)\n    {ONE}", "x=x", ["JM205"]),
        ("key = jax.random.fold_in(key, lax.axis_index('i'))", NEW, ONE, "x", []),
        ("pass", NEW, f"{ONE}\n    trainer = trainer.replace(rng=jax.random.split(trainer.rng[0], 8))", "x", []),
        ("pass", NEW, "trainer = spread(trainer)", "x", []),
        ("pass", "make(params)", ONE, "x", []),  # it may be of another class
        ("pass", NEW, ONE, "*x", []),
    ],
)
def test_objects_whose_methods_are_mapped_hold_a_key(
    fold: str, made: str, state: str, given: str, codes: list[str]
) -> None:
    assert found(METHODS.format(fold=fold, made=made, state=state, given=given)) == codes


ENCODERS = """
from functools import partial
from flax import jax_utils
class Encoder:
    @classmethod
    def create(cls, params): {returned}
    @partial(jax.jit, static_argnames="scale")
    def encode(self, key, x, scale=True): return self.net(x).sample(key)
    @staticmethod
    @jax.jit
    def noise(key, x): return x + jax.random.normal(key, x.shape)
def main(params, x):
    encoder = Encoder.create(params)
    p_encode = jax.pmap(encoder.{method})
    keys = {keys}
    return p_encode(keys, x)
"""


@pytest.mark.parametrize(
    ("returned", "method", "keys", "codes"),
    [
        ("return cls(params)", "encode", "jax_utils.replicate(jax.random.PRNGKey(0))", ["JM205"]),
        ("return cls(params)", "noise", "jax_utils.replicate(jax.random.PRNGKey(0))", ["JM205"]),
        ("return cls(params)", "encode", "jax.random.split(jax.random.PRNGKey(0), 8)", []),
        ("return elsewhere.Encoder(params)", "encode", "jax_utils.replicate(jax.random.PRNGKey(0))", []),
    ],
)
def test_methods_of_what_a_class_method_makes(returned: str, method: str, keys: str, codes: list[str]) -> None:
    assert found(ENCODERS.format(returned=returned, method=method, keys=keys)) == codes


@pytest.mark.parametrize(
    ("home", "caller", "codes"),
    [
        ("a", "b", ["JM205"]),
        ("a", "test_b", []),
        ("a", "test", []),
        ("a", "b_test", []),
        ("a_test", "b_test", ["JM205"]),
    ],
)
def test_key_that_only_a_test_gives_to_all_devices(home: str, caller: str, codes: list[str]) -> None:
    """A program's own caller, which may be a framework, splits it."""
    texts = {home: f"{PRELUDE}\ndef f(params, key, x): return {DRAWN}\np = jax.pmap(f)\n", caller: SMOKE}
    sources = [
        decode(text.replace("{home}", home).encode(), f"{name}.py", Path(f"/project/{name}.py"))
        for name, text in texts.items()
    ]
    assert [finding.code for finding in lint(sources, Config()) if finding.code.startswith("JM2")] == codes


ONE = "def f(w, x):\n    k, other = jax.random.split(w)\n    mine = jax.random.fold_in(k, lax.axis_index('i'))\n"


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        # one number for the whole batch, as a program of one device draws it
        ("return x * jax.random.uniform(k)", ["JM205"]),
        ("return x * jax.random.uniform(k, ())", []),
        ("return x * jax.random.uniform(k, shape=[1])", []),
        ("return x * jax.random.beta(k, 0.2, 0.2)", []),
        ("return x * jax.random.bernoulli(k, 0.5)", []),
        ("return x * jax.random.bernoulli(k, x)", ["JM205"]),
        ("return x * jax.random.uniform(k, (4,))", ["JM205"]),
        ("return jax.vmap(lambda k, v: v * jax.random.uniform(k))(jax.random.split(k, 4), x)", ["JM205"]),
        # one key told apart beside another that is not
        ("return x + net.apply(x, rngs={'dropout': mine, 'codebook': other})", []),
        ("return x + net.apply(x, rngs={'dropout': k, 'codebook': other})", ["JM205", "JM205"]),
        ("return mine[0] + net.apply(x, rngs={'dropout': other})", ["JM205"]),
    ],
)
def test_draws_that_are_one_for_all_devices_on_purpose(body: str, codes: list[str]) -> None:
    assert sorted(found(f"{ONE}    {body}\n{PMAP}")) in (codes, codes[:1])


LEFT_OUT = """
def f(key, x, sizes=(3, 4)):
    rows = x.shape[-1]
    return [jax.random.normal(key, (rows, size)) for size in (rows,) + sizes]
p = jax.pmap(f)
def main(key, x):
    return p(jnp.stack([key] * 8), {passed})
"""


@pytest.mark.parametrize(
    ("passed", "codes"),
    [("x", []), ("x, sizes=x", ["JM205"]), ("x, x", ["JM205"]), ("x)\n    p(*x", ["JM205"]), ("**x", ["JM205"])],
)
def test_parameters_that_no_call_passes_have_their_defaults(passed: str, codes: list[str]) -> None:
    """Parameters are started alike on all devices; nothing here differs between them, unless `sizes` does.

    That one key draws all sizes is another matter.
    """
    assert [one for one in found(LEFT_OUT.format(passed=passed)) if one != "JM214"] == codes


ACCUMULATED = """
def accumulated(state, g, apply=None):
    if apply is None:
        apply = lambda s, g: s.apply_gradients(grads=g)
    return lax.cond(state.step % 4 == 0, lambda: apply(state, g), lambda: state)
def step(state, x):
    g = jax.grad(lambda w: jnp.mean(w * x))(state.params)
    return accumulated(state, g{given})
p = jax.pmap(step, axis_name='i')
"""


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ("", ["JM201"]),
        (", None", ["JM201"]),
        (", lambda s, g: s.apply_gradients(grads=lax.pmean(g, 'i'))", []),
        (", averaged", []),
        (", functools.partial(averaged)", []),
        (", apart", ["JM201"]),
    ],
)
def test_default_function_in_place_of_one_that_is_given(given: str, codes: list[str]) -> None:
    helpers = """
def averaged(s, g): return s.apply_gradients(grads=lax.pmean(g, 'i'))
def apart(s, g): return s.apply_gradients(grads=g)
"""
    assert found(helpers + ACCUMULATED.format(given=given)) == codes


NUMBER = """
opt = optax.adam(1.)
def step(p, s, q):
    slope = jax.grad(lambda v: jnp.mean(p * v))(q)
    penalty = {penalty}
    g = lax.pmean(jax.grad(lambda p: jnp.mean(p * q))(p), 'i')
    u, s = opt.update(s.prepare(g, penalty), s, p)
    return optax.apply_updates(p, u), s
p = jax.pmap(step, axis_name='i')
"""


@pytest.mark.parametrize(
    ("penalty", "codes"),
    [
        ("jnp.sum(slope ** 2)", []),
        ("jnp.linalg.norm(slope)", []),
        ("jnp.mean(slope, axis=0)", ["JM201"]),
        ("jnp.sum(slope * slope, axis=tuple(range(1, slope.ndim)))", []),
        ("jnp.mean(slope, -1)", []),
        ("slope ** 2", ["JM201"]),
    ],
)
def test_a_number_made_of_gradients_is_no_gradient(penalty: str, codes: list[str]) -> None:
    assert found(NUMBER.format(penalty=penalty)) == codes


MODEL_PARALLEL = """
@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def whole(x, axis): return lax.psum(x, axis)
whole.defvjp(lambda x, axis: (whole(x, axis), ()), lambda axis, kept, g: (g,))
def loss(w, x): return jnp.mean({out} ** 2)
@functools.partial(jax.pmap, in_axes=(0, None), axis_name='i')
def step(w, x): return w - 0.1 * jax.grad(loss)(w, x)
"""


@pytest.mark.parametrize(("out", "codes"), [("whole(x @ w, 'i')", []), ("(x @ w + lax.axis_index('i'))", ["JM201"])])
def test_a_layer_that_is_split_over_the_devices(out: str, codes: list[str]) -> None:
    assert found(MODEL_PARALLEL.format(out=out)) == codes


REDUCED_WITHIN = """
opt = optax.adam(1.)
@jax.custom_vjp
def apart(x): return lax.pmean(x, "i")
apart.defvjp(lambda x: (apart(x), ()), lambda kept, g: (g,))
def loss(w, x): return jnp.mean((x @ w) ** 2) + jnp.sum(jnp.log({mean}(jnp.mean(x @ w, 0){axis})))
def step(w, s, x):
    u, s = opt.update({gradient}(loss)(w, x), s, w)
    return optax.apply_updates(w, u), s
p = jax.pmap(step, axis_name="i")
w = {make}(jnp.ones((3, 4)))
s = {make}(opt.init(w))
for x in elsewhere.batches(): w, s = p(w, s, x)
"""


@pytest.mark.parametrize(
    ("gradient", "mean", "make", "codes"),
    [
        ("jax.grad", "lax.pmean", "flax.jax_utils.replicate", ["JM201"]),
        ("(lambda l: lambda w, x: lax.pmean(jax.grad(l)(w, x), 'i'))", "lax.pmean", "flax.jax_utils.replicate", []),
        ("jax.grad", "lax.pmean", "elsewhere.cut_up", []),  # a layer for each device, as far as is known
        ("jax.grad", "apart", "flax.jax_utils.replicate", []),
    ],
)
def test_a_reduction_within_the_loss_reduces_no_gradients(
    gradient: str, mean: str, make: str, codes: list[str]
) -> None:
    axis = "" if mean == "apart" else ", 'i'"
    text = REDUCED_WITHIN.format(gradient=gradient, mean=mean, axis=axis, make=make)
    assert found(f"import flax\n{text}", ("JM201",)) == codes


@pytest.mark.parametrize(("spec", "codes"), [("P('i')", ["JM201"]), ("P('i' if split else None)", [])])
def test_an_argument_that_is_split_on_one_way(spec: str, codes: list[str]) -> None:
    mapped = f"jax.shard_map(f, mesh=mesh, in_specs=({spec},), out_specs=P(), check_vma=False)"
    assert found(f"def f(x): return 2 * x\ndef make(split): return jax.jit({mapped})\n") == codes


def test_written_out_where_no_map_leads() -> None:
    """A loss that a library's user maps: what is wrong whoever calls it."""
    assert found("def norm(x): return lax.pmean(lax.pmean(x, 'b'), axis_name='b')") == ["JM202"]
    assert found("def norm(x): return lax.pmean(lax.pmean(x, 'b'), axis_name='c')") == []
    assert found("def norm(x): return lax.pmax(lax.psum(x, 'b'), 'b')") == []
    branch = "lax.cond({}, lambda v: lax.psum(v, 'b'), lambda v: {}, x)"
    index = "lax.axis_index('b') == 0"
    for test, other, codes in [(index, "v", ["JM301"]), (index, "lax.psum(v + 1, 'b')", []), ("x[0] > 0", "v", [])]:
        assert found("def norm(x): return " + branch.format(test, other), ("JM2", "JM3")) == codes


VMAP = """
import optax
opt = optax.adam(1.)
def step(p, s, b):
    l, g = jax.value_and_grad(lambda p: jnp.mean((b @ p) ** 2))(p)
    {reduce}
    u, s = opt.update(g, s, p)
    return optax.apply_updates(p, u), s, l
p = jax.pmap(jax.vmap(step, axis_name='rows'), axis_name='i')
"""


@pytest.mark.parametrize(
    ("reduce", "codes"),
    [
        ("g = lax.pmean(lax.pmean(g, 'rows'), 'i')", []),
        ("g = lax.pmean(g, ('rows', 'i'))", []),
        ("g = lax.pmean(g, 'i')", ["JM201"]),
        ("g = lax.pmean(lax.pmean(lax.pmean(g, 'rows'), 'i'), 'rows')", ["JM202"]),
    ],
)
def test_the_rows_of_a_vmap_with_a_name(reduce: str, codes: list[str]) -> None:
    assert found(VMAP.format(reduce=reduce)) == codes


WAYS = """
import optax
opt = optax.adam(1.)
def step(state, p, s, b, scale{parameter}):
    {before}
    if {test}:
        {one}
    else:
        {other}
    u, s = opt.update(g, s, p)
    return optax.apply_updates(p, u), s
p = jax.pmap({mapped}, axis_name='i')
"""
GRAD = "g = jax.grad(lambda p: jnp.mean((b @ p) ** 2))(p)"
REDUCED = GRAD + "; g = lax.pmean(g, 'i')"


@pytest.mark.parametrize(
    ("before", "test", "one", "other", "parameter", "mapped", "codes"),
    [
        ("pass", "state.scale", "g = scale(p)", GRAD, "", "step", ["JM201"]),
        ("pass", "state.scale", "g = scale(p)", REDUCED, "", "step", []),
        (GRAD, "state.flag", "g = lax.pmean(g, 'i')", "pass", "", "step", []),
        ("pass", "scale", "_, _, _, g = scale.value_and_grad(loss_fn)(p, b)", REDUCED, "", "step", ["JM201"]),
        ("pass", "scale", "_, _, _, g = scale.value_and_grad(loss_fn, axis_name=None)(p, b)", REDUCED, "", "step",
         ["JM201"]),
        ("pass", "scale", "_, _, _, g = scale.value_and_grad(loss_fn, axis_name='i')(p, b)", REDUCED, "", "step", []),
        ("pass", "scale", "g = lax.pmean(scale.value_and_grad(loss_fn)(p, b)[3], 'i')", REDUCED, "", "step", []),
        (GRAD, "axis is not None", "g = lax.pmean(g, axis)", "pass", ", axis=None", "step", []),  # who knows
        (GRAD, "axis is not None", "g = lax.pmean(g, axis)", "pass", ", axis=None", "partial(step, axis='i')", []),
    ],
)  # fmt: skip
def test_gradients_on_several_ways(
    before: str, test: str, one: str, other: str, parameter: str, mapped: str, codes: list[str]
) -> None:
    text = WAYS.format(before=before, test=test, one=one, other=other, parameter=parameter, mapped=mapped)
    assert found("from functools import partial\n" + text) == codes


STATISTICS = """
from flax import jax_utils, linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, x): return nn.BatchNorm({options})(x)
def f(state, x):
    y, new = state.apply_fn(state.params, x, mutable=['batch_stats'])
    return state.replace(batch_stats=new['batch_stats']), lax.pmean(y.sum(), 'i')
p = jax.pmap(f, axis_name='i')
{average}
def main(state, x): return jax_utils.unreplicate(p(state, x))
"""


@pytest.mark.parametrize(
    ("options", "average", "codes"),
    [
        ("momentum=0.9", "", ["JM206"]),
        ("axis_name=None", "", ["JM206"]),
        ("axis_name='i'", "", []),
        ("use_running_average=True, axis_name='i'", "", []),
        ("", "def sync_batch_stats(state): return state.replace(batch_stats=average(state.batch_stats))", []),
        ("", "g = jax.pmap(lambda s: lax.pmean(s.batch_stats, 'i'), 'i')", []),
    ],
)
def test_statistics_that_no_device_shares(options: str, average: str, codes: list[str]) -> None:
    assert found(STATISTICS.format(options=options, average=average)) == codes


PIPELINE = """
from flax import jax_utils
from flax.training.common_utils import shard
from diffusers import FlaxStableDiffusionPipeline as Pipeline
import diffusers
def images(pipeline, params, rng, prompts):
    keys = {keys}
    return {call}
def main(rng, prompts):
    {made}
    params = jax_utils.replicate(params)
    images(pipeline, params, rng, prompts)
    del pipeline
"""
LOADED = "pipeline, params = Pipeline.from_pretrained('x')"
GIVEN = "pipeline(shard(prompts), params, keys, jit=True)"
NAMED = "pipeline(shard(prompts), params=params, prng_seed=keys, jit=True)"
CONTROLLED = "pipeline(shard(prompts), shard(prompts), params, keys, jit=True)"


@pytest.mark.parametrize(
    ("made", "keys", "call", "codes"),
    [
        (LOADED, "jnp.stack([rng] * jax.device_count())", GIVEN, ["JM205"]),
        (LOADED, "jax_utils.replicate(rng)", NAMED, ["JM205"]),
        ("params, pipeline = 0, diffusers.FlaxStableDiffusionControlNetPipeline(rng)", "0", CONTROLLED, []),
        ("params = 0; pipeline = diffusers.FlaxStableDiffusionControlNetPipeline(rng)", "jax_utils.replicate(rng)",
         CONTROLLED, ["JM205"]),
        (LOADED, "jax.random.split(rng, jax.device_count())", GIVEN, []),
        (LOADED, "jax.random.split(rng, jax.device_count())", NAMED, []),
        (LOADED, "jax_utils.replicate(rng)", GIVEN.replace(", jit=True", ""), []),
        (LOADED, "jax_utils.replicate(rng)", GIVEN.replace("True", "False"), []),
        (LOADED.replace("Pipeline", "elsewhere.Pipeline"), "jax_utils.replicate(rng)", GIVEN, []),
        (LOADED + "; pipeline = elsewhere.made()", "jax_utils.replicate(rng)", GIVEN, []),
    ],
)  # fmt: skip
def test_key_that_a_pipeline_of_a_library_gives_to_all_devices(
    made: str, keys: str, call: str, codes: list[str]
) -> None:
    assert found(PIPELINE.format(made=made, keys=keys, call=call)) == codes


HANDED = """
import jax, jax.numpy as jnp
from jax import lax
def dropout(x, rng):
    return jnp.where(jax.random.bernoulli(rng, 0.9, x.shape), x, 0)
def step(params, x, rng):
    {before}
    return lax.pmean(dropout(x, rng) @ params, "e")
p = jax.pmap(step, axis_name="e", in_axes=(None, 0, None))
"""


@pytest.mark.parametrize(
    ("before", "lines"), [("x = x * 2", [8]), ("rng = jax.random.fold_in(rng, lax.axis_index('e'))", [])]
)
def test_a_shared_key_is_told_where_the_mapped_function_hands_it_on(before: str, lines: list[int]) -> None:
    source = decode(HANDED.replace("{before}", before).encode(), "a.py", Path("/project/a.py"))
    assert [one.line for one in lint([source], Config()) if one.code == "JM205"] == lines
