"""Programs in which an optimiser tells devices apart by a function of another name, or of a module loaded by a string.

Each is the part of `main.py` that makes `tx`, or for those of `BODIES` an expression in the mapped function, with what it
needs. Taken for a function of its arguments, it would be replicated: silently another number on every device.
"""

# ruff: noqa: E501 - programs as people write them
from __future__ import annotations

from tests.layouts.running import Files

OPTIMISER = """\
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard
@@

def step(w, s, x):
    g = jax.lax.pmean(x.mean(0) + w, "i")
    u, s = tx.update(g, s, w)
    return optax.apply_updates(w, u), s

p_step = jax.pmap(step, axis_name="i")
w = np.ones(3, np.float32)
s = jax_utils.replicate(tx.init(w))
w = jax_utils.replicate(w)
for _ in range(2):
    w, s = p_step(w, s, shard(np.ones((16, 3), np.float32)))
print(jax_utils.unreplicate(w))
"""
BODY = """\
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard
@@IMPORTS

def step(w, x):
    noise = @@NOISE
    return w - jax.lax.pmean(x.mean(0), "i") * 0.1 + noise

p_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(np.ones(3, np.float32))
for _ in range(2):
    w = p_step(w, shard(np.ones((16, 3), np.float32)))
print(jax_utils.unreplicate(w))
"""
NOISY = """\
import jax
import optax

def make():
    return optax.stateless(lambda u, p: jax.tree.map(noise, u))

def noise(g):
    return g * jax.lax.axis_index("i")

tx = make()
"""
MADE = {
    "lambda_in_tree_map": 'tx = optax.stateless(lambda u, p: jax.tree.map(lambda g: g * jax.lax.axis_index("i"), u))',
    "lambda_in_vmap": 'tx = optax.stateless(lambda u, p: jax.vmap(lambda g: g * jax.lax.axis_index("i"))(u))',
    "lambda_in_cond": 'tx = optax.stateless(lambda u, p: jax.lax.cond(True, lambda g: g * jax.lax.axis_index("i"), lambda g: g, u))',
    "lambda_in_scan": 'tx = optax.stateless(lambda u, p: jax.lax.scan(lambda c, g: (c, g * jax.lax.axis_index("i")), 0, u)[1])',
    "chain_lambda": 'tx = optax.chain(optax.sgd(0.1), optax.stateless(lambda u, p: jax.tree.map(lambda g: g * jax.lax.axis_index("i"), u)))',
    "dict_lambda": """\
OPTS = {"a": lambda: optax.stateless(lambda u, p: jax.tree.map(lambda g: g * jax.lax.axis_index("i"), u))}
tx = OPTS["a"]()
""",
    "imported_as": """\
from jax.lax import axis_index as where
tx = optax.stateless(lambda u, p: jax.tree.map(lambda g: g * where("i"), u))
""",
    "imported_as_2": """\
from jax.lax import axis_index as where
def f(u, p):
    return u * where("i")
tx = optax.stateless(f)
""",
    "assigned": """\
where = jax.lax.axis_index
def f(u, p):
    return u * where("i")
tx = optax.stateless(f)
""",
    "default": """\
def f(u, p, where=jax.lax.axis_index):
    return u * where("i")
tx = optax.stateless(f)
""",
    "table": """\
T = {"w": jax.lax.axis_index}
def f(u, p):
    return u * T["w"]("i")
tx = optax.stateless(f)
""",
    "table2": """\
T = [jax.lax.axis_index]
def f(u, p):
    return u * T[0]("i")
tx = optax.stateless(f)
""",
    "in_class": """\
class K:
    where = staticmethod(jax.lax.axis_index)
def f(u, p):
    return u * K.where("i")
tx = optax.stateless(f)
""",
    "in_class2": """\
class K:
    def __init__(self):
        self.where = jax.lax.axis_index
k = K()
def f(u, p):
    return u * k.where("i")
tx = optax.stateless(f)
""",
    "in_partial": """\
import functools
where = functools.partial(jax.lax.axis_index, "i")
def f(u, p):
    return u * where()
tx = optax.stateless(f)
""",
    "by_getattr": """\
where = getattr(jax.lax, "axis_index")
def f(u, p):
    return u * where("i")
tx = optax.stateless(f)
""",
    "by_getattr2": """\
def f(u, p):
    return u * getattr(jax.lax, "axis_" + "index")("i")
tx = optax.stateless(f)
""",
    "by_getattr3": """\
NAME = "axis_index"
def f(u, p):
    return u * getattr(jax.lax, NAME)("i")
tx = optax.stateless(f)
""",
    "import_module": """\
import importlib
tx = importlib.import_module("plugins.noisy").tx
""",
    "import_module_fn": """\
import importlib
def load():
    return importlib.import_module("plugins.noisy")
tx = load().make()
""",
    "resolve_name": """\
import pkgutil
tx = pkgutil.resolve_name("plugins.noisy:tx")
""",
    "exec_open": 'exec(open("noisy.py").read())',
    "exec_open_ns": """\
ns = {}
exec(open("noisy.py").read(), ns)
tx = ns["tx"]
""",
    "runpy": """\
import runpy
tx = runpy.run_path("noisy.py")["tx"]
""",
    "dunder_import": 'tx = __import__("noisy").tx',
    "sys_modules": """\
import sys, noisy
tx = sys.modules["noisy"].tx
""",
    "spec": """\
import importlib.util
spec = importlib.util.spec_from_file_location("noisy", "noisy.py")
m = importlib.util.module_from_spec(spec)
spec.loader.exec_module(m)
tx = m.tx
""",
    "lambda_default": 'tx = optax.stateless(lambda u, p, w=jax.lax.axis_index: u * w("i"))',
    "kw_default": """\
def f(u, p, *, w=jax.lax.axis_index):
    return u * w("i")
tx = optax.stateless(f)
""",
    "fn_default": """\
def noisy(u):
    return u * jax.lax.axis_index("i")
def f(u, p, w=noisy):
    return w(u)
tx = optax.stateless(f)
""",
    "tuple_assign": """\
a, b = jax.lax.axis_index, jax.lax.psum
def f(u, p):
    return u * a("i")
tx = optax.stateless(f)
""",
    "walrus": """\
print(w := jax.lax.axis_index)
def f(u, p):
    return u * w("i")
tx = optax.stateless(f)
""",
    "as_module": """\
from jax import lax as L
tx = optax.stateless(lambda u, p: jax.tree.map(lambda g: g * L.axis_index("i"), u))
""",
    "ifexp": """\
w = jax.lax.axis_index if True else jax.lax.psum
def f(u, p):
    return u * w("i")
tx = optax.stateless(f)
""",
    "given": """\
def call(w, u):
    return u * w("i")
def f(u, p):
    return call(jax.lax.axis_index, u)
tx = optax.stateless(f)
""",
    "append": """\
L = []
L.append(jax.lax.axis_index)
def f(u, p):
    return u * L[0]("i")
tx = optax.stateless(f)
""",
    "setattr": """\
class K: pass
setattr(K, "w", jax.lax.axis_index)
def f(u, p):
    return u * K.w("i")
tx = optax.stateless(f)
""",
    "dictget": """\
T = dict(w=jax.lax.axis_index)
def f(u, p):
    return u * T.get("w")("i")
tx = optax.stateless(f)
""",
    "dataclass": """\
import dataclasses
@dataclasses.dataclass
class K:
    w: object = jax.lax.axis_index
k = K()
def f(u, p):
    return u * k.w("i")
tx = optax.stateless(f)
""",
    "closure": """\
def make(w):
    def f(u, p):
        return u * w("i")
    return f
tx = optax.stateless(make(jax.lax.axis_index))
""",
    "closure_kw": """\
def make(**k):
    def f(u, p):
        return u * k["w"]("i")
    return f
tx = optax.stateless(make(w=jax.lax.axis_index))
""",
    "decorator": """\
import functools
def noisy(f):
    @functools.wraps(f)
    def g(u, p=None):
        return f(u, p) * jax.lax.axis_index("i")
    return g
@noisy
def f(u, p):
    return u
tx = optax.stateless(f)
""",
    "other_module": """\
from names import where
def f(u, p):
    return u * where("i")
tx = optax.stateless(f)
""",
    "other_module2": """\
import names
def f(u, p):
    return u * names.where("i")
tx = optax.stateless(f)
""",
    "other_module3": """\
import names
def f(u, p):
    return u * names.lax.axis_index("i")
tx = optax.stateless(f)
""",
    "vars": """\
def f(u, p):
    return u * vars(jax.lax)["axis_" + "index"]("i")
tx = optax.stateless(f)
""",
    "dict_of_module": """\
def f(u, p):
    return u * jax.lax.__dict__["axis_index"]("i")
tx = optax.stateless(f)
""",
    "attrgetter": """\
import operator
W = operator.attrgetter("lax.axis_index")(jax)
def f(u, p):
    return u * W("i")
tx = optax.stateless(f)
""",
    "methodcaller": """\
import operator
W = operator.methodcaller("axis_index", "i")
def f(u, p):
    return u * W(jax.lax)
tx = optax.stateless(f)
""",
    "lax_alias_getattr": """\
M = jax.lax
def f(u, p):
    return u * getattr(M, "axis" + "_index")("i")
tx = optax.stateless(f)
""",
    "import_module_lax": """\
import importlib
M = importlib.import_module("jax.lax")
def f(u, p):
    return u * M.axis_index("i")
tx = optax.stateless(f)
""",
    "eval": """\
def f(u, p):
    return u * eval("jax.lax.axis_index")("i")
tx = optax.stateless(f)
""",
    "eval2": """\
def f(u, p):
    return u * eval("jax.lax.axis" + "_index('i')")
tx = optax.stateless(f)
""",
    "exec_str": """\
exec("def f(u, p):\\n    return u * jax.lax.axis_index('i')")
tx = optax.stateless(f)
""",
    "nested_lambda3": 'tx = optax.stateless(lambda u, p: (lambda t: jax.tree.map(lambda g: (lambda h: h * jax.lax.axis_index("i"))(g), t))(u))',
    "comp_lambda": 'tx = optax.stateless(lambda u, p: [jax.tree.map(lambda g: g * jax.lax.axis_index("i"), x) for x in [u]][0])',
    "partial_tree_map": """\
import functools
def n(i, g):
    return g * jax.lax.axis_index(i)
tx = optax.stateless(lambda u, p: jax.tree.map(functools.partial(n, "i"), u))
""",
    "sorted_key": 'tx = optax.stateless(lambda u, p: sorted([u], key=lambda g: 0)[0] * jax.lax.axis_index("i"))',
    "map_lambda": 'tx = optax.stateless(lambda u, p: list(map(lambda g: g * jax.lax.axis_index("i"), [u]))[0])',
    "reduce": """\
import functools
tx = optax.stateless(lambda u, p: functools.reduce(lambda a, g: a * jax.lax.axis_index("i"), [u, u]))
""",
    "plugin_dir": """\
import importlib, pkgutil, plugins
for m in pkgutil.iter_modules(plugins.__path__):
    tx = importlib.import_module("plugins." + m.name).tx
""",
    "plugin_f": """\
import importlib
name = "noisy"
tx = importlib.import_module(f"plugins.{name}").tx
""",
    "plugin_env": """\
import importlib, os
tx = importlib.import_module(os.environ["X"]).tx
""",
    "loader": """\
from importlib.machinery import SourceFileLoader
tx = SourceFileLoader("noisy", "noisy.py").load_module().tx
""",
    "relative": """\
import importlib
tx = importlib.import_module(".noisy", "plugins").tx
""",
    "read_text": """\
import pathlib
ns = {}
exec(pathlib.Path("noisy.py").read_text(), ns)
tx = ns["tx"]
""",
    "compile": """\
ns = {}
exec(compile(open("noisy.py").read(), "noisy.py", "exec"), ns)
tx = ns["tx"]
""",
    "star_of_other": """\
from names import *
def f(u, p):
    return u * where("i")
tx = optax.stateless(f)
""",
}
# what lies beside them: a module that tells devices apart where there is nothing else to say
BESIDE = {
    "import_module": {"plugins/noisy.py": NOISY, "plugins//init/.py": ""},
    "import_module_fn": {"plugins/noisy.py": NOISY, "plugins//init/.py": ""},
    "resolve_name": {"plugins/noisy.py": NOISY, "plugins//init/.py": ""},
    "exec_open": {"noisy.py": NOISY},
    "exec_open_ns": {"noisy.py": NOISY},
    "runpy": {"noisy.py": NOISY},
    "dunder_import": {"noisy.py": NOISY},
    "sys_modules": {"noisy.py": NOISY},
    "spec": {"noisy.py": NOISY},
    "other_module": {"names.py": "from jax.lax import axis_index as where"},
    "other_module2": {
        "names.py": """\
import jax
where = jax.lax.axis_index
"""
    },
    "other_module3": {"names.py": "from jax import lax"},
    "plugin_dir": {"plugins/noisy.py": NOISY, "plugins//init/.py": ""},
    "plugin_f": {"plugins/noisy.py": NOISY, "plugins//init/.py": ""},
    "plugin_env": {"noisy.py": NOISY},
    "loader": {"noisy.py": NOISY},
    "relative": {"plugins/noisy.py": NOISY, "plugins//init/.py": ""},
    "read_text": {"noisy.py": NOISY},
    "compile": {"noisy.py": NOISY},
    "star_of_other": {"names.py": "from jax.lax import axis_index as where"},
}
BODIES = {
    "body_as": ('where("i")', "from jax.lax import axis_index as where"),
    "body_table": ('T["w"]("i")', 'T = {"w": jax.lax.axis_index}'),
    "body_getattr": ('getattr(jax.lax, "axis_" + "index")("i")', ""),
    "body_partial": ("where()", 'import functools\nwhere = functools.partial(jax.lax.axis_index, "i")'),
    "body_star": ('axis_index("i")', "from jax.lax import *"),
}


def disguises() -> dict[str, Files]:
    """All of these programs, by name."""
    made = {
        name: {"main.py": OPTIMISER.replace("@@", text.rstrip("\n")), **BESIDE.get(name, {})}
        for name, text in MADE.items()
    }
    bodies = {
        name: {"main.py": BODY.replace("@@NOISE", noise).replace("@@IMPORTS", imports)}
        for name, (noise, imports) in BODIES.items()
    }
    return {**made, **bodies}
