# ruff: noqa: E501 - a program reads better in few lines
"""Finds the least release of a library that runs beside a JAX, for the table program/least_releases.csv.

    python tests/campaigns/least_releases.py --python EXE... [LIBRARY...]

EXE are interpreters of throw-away environments that have a JAX, the newest of each library that it allows, and what old
releases of these import (`nest_asyncio`, `importlib_resources`, `cached_property`, `setuptools<81`). Each release that is
tried is put before the installed one; the least is searched for by halves, then its neighbours are tried too. Where old
releases run and later ones do not, as orbax-checkpoint 0.8.0 does, a person reads what is printed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = {
    "flax": """
import tempfile, numpy as np, jax, jax.numpy as jnp, optax
import flax, flax.linen as nn
from flax import jax_utils, struct, traverse_util, serialization
from flax.core import freeze, unfreeze, FrozenDict
from flax.training import train_state, checkpoints, common_utils
class M(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.relu(x).mean((1, 2))
        x = nn.Dropout(0.1, deterministic=not train)(x)
        x = nn.LayerNorm()(nn.Dense(8)(x))
        y = nn.MultiHeadDotProductAttention(num_heads=2)(x[:, None], x[:, None]) if hasattr(nn, 'MultiHeadDotProductAttention') else x[:, None]
        return nn.remat(nn.Dense)(3)(y[:, 0])
class Cell(nn.Module):
    @nn.compact
    def __call__(self, c, x):
        c = nn.Dense(4)(c) + x
        return c, c
m = M(); x = jnp.ones((2, 8, 8, 3)); k = jax.random.PRNGKey(0)
v = m.init({'params': k, 'dropout': k}, x)
S = nn.scan(Cell, variable_broadcast='params', split_rngs={'params': False}, in_axes=1, out_axes=1)
S().init_with_output(k, jnp.ones((2, 4)), jnp.ones((2, 5, 4)))
class T(train_state.TrainState):
    bs: dict
s = T.create(apply_fn=m.apply, params=v['params'], tx=optax.adamw(1e-3), bs=v['batch_stats'])
def step(s, x, k):
    def loss(p):
        y, up = s.apply_fn({'params': p, 'batch_stats': s.bs}, x, mutable=['batch_stats'], rngs={'dropout': k})
        return (y ** 2).mean(), up
    (l, up), g = jax.value_and_grad(loss, has_aux=True)(s.params)
    return s.apply_gradients(grads=jax.lax.pmean(g, 'b')).replace(bs=up['batch_stats']), l
p = jax.pmap(step, axis_name='b')
r = jax_utils.replicate(s)
r, l = p(r, x[None], common_utils.shard_prng_key(k))
jax.jit(lambda v: m.apply(v, x, train=False))(v)
u = jax_utils.unreplicate(r)
serialization.from_bytes(u.params, serialization.to_bytes(u.params))
traverse_util.flatten_dict(unfreeze(u.params))
next(jax_utils.prefetch_to_device(iter([{'a': np.ones((1, 2))}]), 1))
""",
    "optax": """
import jax, jax.numpy as jnp, optax
p = {'a': jnp.ones(3), 'b': {'c': jnp.ones((2, 2))}}
g = jax.tree.map(jnp.ones_like, p)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.warmup_cosine_decay_schedule(0., 1., 2, 10), mask=jax.tree.map(lambda _: True, p)))
for t in (tx, optax.sgd(0.1, momentum=0.9), optax.lamb(0.1), optax.adafactor(0.1), optax.rmsprop(0.1), optax.MultiSteps(tx, 2), optax.apply_if_finite(tx, 2), optax.multi_transform({'x': optax.adam(1e-3), 'y': optax.set_to_zero()}, {'a': 'x', 'b': {'c': 'y'}}), optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)):
    s = t.init(p); u, s = jax.jit(t.update)(g, s, p); optax.apply_updates(p, u)
optax.softmax_cross_entropy(jnp.ones((2, 3)), jnp.ones((2, 3))); optax.global_norm(g); optax.incremental_update(p, g, 0.1); optax.sigmoid_binary_cross_entropy(jnp.ones(2), jnp.ones(2)); optax.huber_loss(jnp.ones(2))
""",
    "dm-haiku": """
import jax, jax.numpy as jnp, haiku as hk
def f(x, train=True):
    x = hk.Conv2D(4, 3)(x); x = hk.BatchNorm(True, True, 0.9)(x, train)
    x = hk.Flatten()(x); x = hk.dropout(hk.next_rng_key(), 0.1, x); x = hk.LayerNorm(-1, True, True)(hk.Linear(8)(x))
    x = hk.MultiHeadAttention(2, 4, w_init=hk.initializers.VarianceScaling())(x[:, None], x[:, None], x[:, None])[:, 0]
    c = hk.LSTM(4); y, _ = c(x, c.initial_state(2)); x = hk.remat(hk.nets.MLP([4, 2]))(y)
    hk.set_state('n', hk.get_state('n', [], init=jnp.zeros) + 1)
    ys, _ = hk.scan(lambda a, b: (a + b, a), x[0], x)
    return hk.cond(jnp.all(x > 0), lambda v: v, lambda v: v + 1, x)
t = hk.transform_with_state(f); k = jax.random.PRNGKey(0); x = jnp.ones((2, 4, 4, 3))
p, s = t.init(k, x); jax.jit(t.apply)(p, s, k, x); jax.pmap(t.apply, axis_name='i', in_axes=(None, None, None, 0))(p, s, k, x[None])
hk.data_structures.to_haiku_dict(hk.data_structures.to_mutable_dict(p)) if hasattr(hk.data_structures, 'to_haiku_dict') else 0
list(hk.data_structures.traverse(p)); hk.PRNGSequence(1).next if hasattr(hk.PRNGSequence(1), 'next') else 0; next(hk.PRNGSequence(1))
jax.grad(lambda p: t.apply(p, s, k, x)[0].sum())(p)
""",
    "chex": """
import jax, jax.numpy as jnp, chex
@chex.dataclass
class D:
    a: chex.Array
    k: chex.PRNGKey
d = D(a=jnp.ones(3), k=jax.random.PRNGKey(0)); jax.jit(lambda d: d.replace(a=d.a + 1))(d)
chex.assert_shape(d.a, (3,)); chex.assert_rank(d.a, 1); chex.assert_equal_shape([d.a, d.a]); chex.assert_type(d.a, float); chex.assert_tree_all_finite({'a': d.a})
@chex.dataclass(frozen=True, mappable_dataclass=True)
class F:
    a: chex.ArrayTree
F(a=1)['a']; chex.Scalar, chex.Numeric, chex.ArrayNumpy
chex.assert_trees_all_close({'a': d.a}, {'a': d.a})
""",
    "orbax-checkpoint": """
import tempfile, jax, jax.numpy as jnp, orbax.checkpoint as o, os
d = tempfile.mkdtemp(); t = {'a': jnp.ones(3), 'b': {'c': jnp.ones((2, 2))}}
c = o.PyTreeCheckpointer() if hasattr(o, 'PyTreeCheckpointer') else o.Checkpointer(o.PyTreeCheckpointHandler())
c.save(os.path.join(d, 'x'), t); r = c.restore(os.path.join(d, 'x')); assert r['b']['c'].shape == (2, 2)
m = o.CheckpointManager(os.path.join(d, 'y'), c, o.CheckpointManagerOptions(max_to_keep=2, create=True)); m.save(1, t);
(m.wait_until_finished if hasattr(m, 'wait_until_finished') else (lambda: 0))(); assert m.latest_step() == 1; m.restore(1)
""",
    "rlax": """
import jax, jax.numpy as jnp, rlax
rlax.q_learning(jnp.ones(3), 1, 1., 0.9, jnp.ones(3)); rlax.vtrace(jnp.ones(3), jnp.ones(3), jnp.ones(3), jnp.ones(3), jnp.ones(3)); rlax.l2_loss(jnp.ones(3)); rlax.epsilon_greedy(0.1).sample(jax.random.PRNGKey(0), jnp.ones(3)); rlax.lambda_returns(jnp.ones(3), jnp.ones(3), jnp.ones(3), 0.9)
rlax.policy_gradient_loss(jnp.ones((3, 2)), jnp.zeros(3, int), jnp.ones(3), jnp.ones(3))
""",
    "distrax": """
import jax, jax.numpy as jnp, distrax
k = jax.random.PRNGKey(0)
for d in (distrax.Normal(0., 1.), distrax.Categorical(logits=jnp.zeros(3)), distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2)), distrax.Bernoulli(0.)):
    s = d.sample(seed=k); d.log_prob(s); d.entropy()
distrax.Normal(0., 1.).kl_divergence(distrax.Normal(1., 1.))
f = distrax.Transformed(distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2)), distrax.Block(distrax.Tanh(), 1)); f.sample_and_log_prob(seed=k)
jax.jit(lambda d: d.sample(seed=k))(distrax.Normal(0., 1.))
""",
    "equinox": """
import jax, jax.numpy as jnp, equinox as eqx
k = jax.random.PRNGKey(0)
m = eqx.nn.MLP(3, 2, 4, 2, key=k)
@eqx.filter_jit
def step(m, x):
    return eqx.filter_value_and_grad(lambda m: jax.vmap(m)(x).sum())(m)
l, g = step(m, jnp.ones((4, 3)))
eqx.apply_updates(m, g); eqx.filter(m, eqx.is_array); p, s = eqx.partition(m, eqx.is_array); eqx.combine(p, s); eqx.tree_at(lambda m: m.layers[0].weight, m, jnp.zeros((4, 3)))
eqx.nn.Conv2d(3, 4, 3, key=k)(jnp.ones((3, 8, 8))); eqx.nn.MultiheadAttention(2, 4, key=k)(jnp.ones((3, 4)), jnp.ones((3, 4)), jnp.ones((3, 4))); eqx.nn.LayerNorm(4)(jnp.ones(4)); eqx.filter_vmap(m)(jnp.ones((4, 3)))
""",
    "objax": """
import objax, jax.numpy as jnp
m = objax.nn.Sequential([objax.nn.Linear(3, 2)]); m(jnp.ones((2, 3)))
objax.Jit(m)(jnp.ones((2, 3)))
objax.GradValues(lambda x: m(x).sum(), m.vars())(jnp.ones((2, 3)))
""",
    "jaxopt": """
import jax, jax.numpy as jnp, jaxopt
f = lambda w: ((w - 1) ** 2).sum()
for S in (jaxopt.GradientDescent, jaxopt.LBFGS): S(fun=f, maxiter=3).run(jnp.zeros(3))
jaxopt.ScipyMinimize(fun=f).run(jnp.zeros(3))
""",
    "numpyro": """
import jax, jax.numpy as jnp, numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO, autoguide
def model(y): numpyro.sample('y', dist.Normal(numpyro.sample('m', dist.Normal(0, 1)), 1), obs=y)
m = MCMC(NUTS(model), num_warmup=5, num_samples=5, progress_bar=False); m.run(jax.random.PRNGKey(0), jnp.ones(3)); m.get_samples()
SVI(model, autoguide.AutoNormal(model), numpyro.optim.Adam(1e-2), Trace_ELBO()).run(jax.random.PRNGKey(0), 3, jnp.ones(3), progress_bar=False)
""",
    "diffrax": """
import jax, jax.numpy as jnp, diffrax
diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, a: -y), diffrax.Tsit5(), 0., 1., 0.1, jnp.ones(2), stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-3), saveat=diffrax.SaveAt(ts=jnp.linspace(0, 1, 3)))
""",
    "clu": """
import jax, jax.numpy as jnp, flax, tempfile
from clu import metrics, parameter_overview
@flax.struct.dataclass
class M(metrics.Collection):
    loss: metrics.Average.from_output('loss')
m = M.single_from_model_output(loss=jnp.ones(3)); m.merge(m).compute()
parameter_overview.get_parameter_overview({'a': jnp.ones(3)})
p = jax.pmap(lambda x: M.gather_from_model_output(loss=x, axis_name='batch') if False else x, axis_name='batch')(jnp.ones((1, 2)))
jax.pmap(lambda x: M.gather_from_model_output(loss=x), axis_name='batch')(jnp.ones((1, 2))).unreplicate().compute()
""",
    "tensorflow-probability": """
import jax, jax.numpy as jnp
from tensorflow_probability.substrates import jax as tfp
d = tfp.distributions.Normal(0., 1.); d.log_prob(d.sample(3, seed=jax.random.PRNGKey(0)))
tfp.distributions.TransformedDistribution(tfp.distributions.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2)), tfp.bijectors.Tanh()).sample(seed=jax.random.PRNGKey(0))
""",
    "jraph": """
import jax.numpy as jnp, jraph
g = jraph.GraphsTuple(nodes=jnp.ones((3, 2)), edges=jnp.ones((2, 2)), senders=jnp.array([0, 1]), receivers=jnp.array([1, 2]), n_node=jnp.array([3]), n_edge=jnp.array([2]), globals=jnp.ones((1, 2)))
jraph.batch([g, g]); jraph.GraphNetwork(lambda *a: a[0], lambda *a: a[0], lambda *a: a[2])(g)
jraph.pad_with_graphs(g, 8, 8, 2)
""",
    "jmp": """
import jmp, jax.numpy as jnp
p = jmp.get_policy('params=float32,compute=float16,output=float32'); p.cast_to_compute({'a': jnp.ones(2)}); s = jmp.DynamicLossScale(jnp.float32(2.)); s.adjust(jnp.array(True)); jmp.all_finite({'a': jnp.ones(2)})
""",
    "dm-pix": """
import dm_pix as p, jax, jax.numpy as jnp
p.flip_left_right(jnp.ones((4, 4, 3))); p.random_brightness(jax.random.PRNGKey(0), jnp.ones((4, 4, 3)), 0.1); p.ssim(jnp.ones((16, 16, 3)), jnp.ones((16, 16, 3)))
""",
}


def runs(python: str, folder: Path, library: str) -> str:
    """Why the program of a library fails with the release in a folder; empty where it runs."""
    text = f"import sys; sys.path.insert(0, {str(folder)!r})\n{PROGRAMS[library]}"
    try:
        done = subprocess.run(
            [python, "-W", "ignore", "-c", text], capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        return "does not end"
    lines = done.stderr.strip().split("\n")
    errors = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception)\b", line)]
    return (errors or lines)[-1][:160] if done.returncode else ""


def search(python: str, library: str, home: Path) -> tuple[str, dict[str, str]]:
    """The least release that runs, and why each that was tried did not."""
    listed = subprocess.run(
        [python, "-m", "pip", "index", "versions", library], capture_output=True, text=True, check=True
    )
    found = re.search(r"Available versions: (.*)", listed.stdout)
    releases = [one for one in (found[1].split(", ") if found else []) if re.fullmatch(r"[\d.]+", one)][::-1]
    told: dict[str, str] = {}

    def fails(release: str) -> str:
        if release not in told:
            folder = home / library / release
            install = [
                python,
                "-m",
                "pip",
                "install",
                "-q",
                "--no-deps",
                "--target",
                str(folder),
                f"{library}=={release}",
            ]
            done = folder.is_dir() or subprocess.run(install, capture_output=True, check=False).returncode == 0
            told[release] = runs(python, folder, library) if done else "does not install"
        return told[release]

    low, high = -1, len(releases) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fails(releases[middle]) else (low, middle)
    for release in releases[max(0, high - 2) : high + 3]:
        fails(release)
    return releases[high], {release: told[release] for release in releases if release in told}


def main() -> int:
    """Prints what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python", nargs="+", required=True, help="interpreters with a JAX each")
    parser.add_argument("libraries", nargs="*", default=list(PROGRAMS), metavar="LIBRARY")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        for library in options.libraries:
            for python in options.python:
                least, told = search(python, library, Path(home))
                print(f"{library} beside the jax of {python}: {least}", flush=True)
                for release, why in told.items():
                    print(f"    {release}: {why or 'runs'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
