"""Objects of the program's own classes that methods change in place in the body of a map.

An object whose attribute is changed is one of its class all the same: what its methods store in it has to be seen. Each
body gives a value that differs between devices first (all were run on eight), and what is read of it must say so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from tests.flow.variance.test_levels import levels

HOLDER = """
class H:
    def __init__(self): self.d = {}
    def set(self, v): self.d["loss"] = v
"""

TREE = """
@jax.tree_util.register_pytree_node_class
class T:
    def __init__(self, a, loss=None): self.a = a; self.loss = loss
    def tree_flatten(self): return (self.a, self.loss), None
    @classmethod
    def tree_unflatten(cls, aux, c): return cls(*c)
    def set(self, v): self.loss = v
    def deep(self, v):
        e = self.a
        e["k"] = v
    def via(self, v): self.set(v)
    def viaf(self, v): put(self, v)
    def item(self, v):
        for e in (self.a,): e.update(k=v)
def put(t, v): t.set(v)
"""

METER = """import jax, jax.numpy as jnp, numpy as np, optax
from flax import jax_utils, struct
from flax.training import train_state
from flax.training.common_utils import shard
class Meter:
    def __init__(self): self.sum = 0.0
    def update(self, v, n=1): self.sum += v * n
class TrainState(train_state.TrainState):
    key: jax.Array
def step(state, batch):
    key, use = jax.random.split(state.key)
    def loss(p): return jnp.mean((batch @ p + jax.random.normal(use)) ** 2)
    l, g = jax.value_and_grad(loss)(state.params)
    g = jax.lax.pmean(g, "batch")
    u, o = state.tx.update(g, state.opt_state, state.params)
    return state.replace(params=optax.apply_updates(state.params, u), opt_state=o, key=key), jax.lax.pmean(l, "batch")
def main(batches):
    state = TrainState.create(apply_fn=None, params=jnp.ones(3), tx=optax.adam(1e-3), key=jax.random.PRNGKey(0))
    state = jax_utils.replicate(state)
    state = state.replace(key=jax.random.split(jax.random.PRNGKey(1), jax.device_count()))
    p_step = jax.pmap(step, axis_name="batch")
    meter = Meter()
    for b in batches:
        state, l = p_step(state, shard(b))
        meter.update(float(l[0]))
    return jax_utils.unreplicate(state).params
main([np.ones((16, 3), np.float32)])
"""

BODIES = {
    "equal then": HOLDER
    + """
def f(x, p):
    h = H(); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "alias first": HOLDER
    + """
def f(x, p):
    h = H(); h.set(p); d = h.d; d["o"] = p; h.set(x); return h.d["loss"], d["loss"], x
""",
    "helper": HOLDER
    + """
def put(h, k, v): h.d[k] = v
def f(x, p):
    h = H(); put(h, "o", p); h.set(x); return h.d["loss"], x
""",
    "list attr": """
class H:
    def __init__(self): self.l = []
    def push(self, v): self.l.append(v)
def f(x, p):
    h = H(); h.l.append(p); h.push(x); l = h.l; return l[0], l[1], x
""",
    "base method": HOLDER
    + """
class K(H):
    def __init__(self):
        super().__init__()
        self.n = p0
    def both(self, v):
        self.set(v)
p0 = 1.0
def f(x, p):
    h = K(); h.d["o"] = p; h.both(x); return h.d["loss"], x
""",
    "super method": HOLDER
    + """
class K(H):
    def set(self, v):
        super().set(v)
def f(x, p):
    h = K(); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "closure obj": HOLDER
    + """
def f(x, p):
    h = H()
    h.d["o"] = p
    def inner(v): h.set(v)
    inner(x)
    return h.d["loss"], x
""",
    "dict of": HOLDER
    + """
def f(x, p):
    b = {"h": H()}; b["h"].d["o"] = p; b["h"].set(x); return b["h"].d["loss"], x
""",
    "list of": HOLDER
    + """
def f(x, p):
    hs = [H(), H()]
    for h in hs: h.d["o"] = p
    for h in hs: h.set(x)
    return hs[0].d["loss"], x
""",
    "setter": """
class H:
    def __init__(self): self.d = {}
    @property
    def loss(self): return self.d["loss"]
    @loss.setter
    def loss(self, v): self.d["loss"] = v
def f(x, p):
    h = H(); h.d["loss"] = p; d = h.d; d["o"] = p; h.loss = x; return d["loss"], h.d["loss"], x
""",
    "setitem": """
class H:
    def __init__(self): self.d = {}
    def __setitem__(self, k, v): self.d["loss"] = v
def f(x, p):
    h = H(); h.d["o"] = p; h["a"] = x; return h.d["loss"], x
""",
    "callm": """
class H:
    def __init__(self): self.d = {}
    def __call__(self, v): self.d["loss"] = v
def f(x, p):
    h = H(); h.d["o"] = p; h(x); return h.d["loss"], x
""",
    "iadd": """
class H:
    def __init__(self): self.d = {}
    def __iadd__(self, v):
        self.d["loss"] = v
        return self
def f(x, p):
    h = H(); h.d["o"] = p; d = h.d; h += x; return d["loss"], h.d["loss"], x
""",
    "lshift": """
class H:
    def __init__(self): self.d = {}
    def __lshift__(self, v): self.d["loss"] = v
def f(x, p):
    h = H(); h.d["o"] = p; h << x; return h.d["loss"], x
""",
    "treemap": HOLDER
    + """
def f(x, p):
    h = H(); h.d["o"] = p; jax.tree.map(h.set, x); return h.d["loss"], x
""",
    "getattr dyn": HOLDER
    + """
def f(x, p):
    h = H(); h.d["o"] = p; n = "".join(["s", "et"]); getattr(h, n)(x); return h.d["loss"], x
""",
    "shadow": HOLDER
    + """
def other(v): BOX['loss'] = v
BOX = {}
def f(x, p):
    h = H(); h.set = lambda v: h.d.__setitem__("loss", v * 2); h.d["loss"] = p; h.set(x); return h.d["loss"], x
""",
    "shadow2": HOLDER
    + """
class Q:
    def __init__(self): self.d = {}
    def set(self, v): pass
def f(x, p):
    q = Q(); h = H(); q.set = h.set; q.d["o"] = p; q.set(x); return h.d["loss"], x
""",
    "classattr": """
def _set(self, v): self.d['loss'] = v
class H:
    def __init__(self): self.d = {}
    put = _set
def f(x, p):
    h = H(); h.d["o"] = p; h.put(x); return h.d["loss"], x
""",
    "inner alias": """
class H:
    def __init__(self): self.box = None
    def take(self, b): self.box = b
    def bump(self, v): self.box["x"] = v
def f(x, p):
    b = {"x": p}; h = H(); h.take(b); h.box["o"] = p; h.bump(x); return b["x"], x
""",
    "local alias": """
class H:
    def __init__(self): self.d = {}
    def set(self, v):
        d = self.d
        d["loss"] = v
def f(x, p):
    h = H(); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "setattr": """
class H:
    def __init__(self): self.d = {}; self.loss = 0.
    def set(self, v): setattr(self, "loss", v)
def f(x, p):
    h = H(); h.d["o"] = p; h.set(x); return h.loss, x
""",
    "vars": """
class H:
    def __init__(self): self.d = {}; self.loss = 0.
    def set(self, v): vars(self)["loss"] = v
def f(x, p):
    h = H(); h.d["o"] = p; h.set(x); return h.loss, x
""",
    "objsetattr": """
@dataclasses.dataclass(frozen=True)
class H:
    d: dict
    loss: float
    def set(self, v): object.__setattr__(self, "loss", v)
def f(x, p):
    h = H({}, 0.); h.d["o"] = p; h.set(x); return h.loss, x
""",
    "dataclass": """
@dataclasses.dataclass
class H:
    d: dict
    loss: float = 0.
    def set(self, v): self.d["loss"] = v
def f(x, p):
    h = H({}); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "staticm": """
class H:
    def __init__(self): self.d = {}
    @staticmethod
    def put(h, v): h.d["loss"] = v
def f(x, p):
    h = H(); h.d["o"] = p; g = {"h": h}; h.put(h, x); H.put(g["h"], x); return h.d["loss"], x
""",
    "method arg": """
class W:
    def __init__(self): self.d = {}
    def write(self, h, v): h.d["loss"] = v
def f(x, p):
    h = W(); w = W(); w.d["o"] = p; h.d["o"] = p; w.write(h, x); return h.d["loss"], x
""",
    "nested": HOLDER
    + """
class O:
    def __init__(self): self.h = H()
    def set(self, v): self.h.set(v)
def f(x, p):
    o = O(); o.h.d["o"] = p; d = o.h.d; o.set(x); return d["loss"], o.h.d["loss"], x
""",
    "ctx": """
class H:
    def __init__(self): self.d = {}
    def __enter__(self): self.d["loss"] = self.d["v"]; return self
    def __exit__(self, *a): pass
def f(x, p):
    h = H(); h.d["v"] = x; h.d["loss"] = p; d = h.d
    with h: pass
    return d["loss"], x
""",
    "dictsub": """
class H(dict):
    def put(self, v): self['loss'] = v
def f(x, p):
    h = H(); h["o"] = p; g = h; g["l"] = p; h.put(x); return g["loss"], h["loss"], x
""",
    "gen": """
class H:
    def __init__(self): self.d = {}
    def each(self, v):
        self.d["loss"] = v
        yield v
def f(x, p):
    h = H(); h.d["o"] = p
    for i in h.each(x): pass
    return h.d["loss"], x
""",
    "copy": """
import copy

class H:
    def __init__(self): self.d = {}
    def set(self, v): self.d["loss"] = v
def f(x, p):
    h = copy.copy(H()); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "classm": """
class H:
    def __init__(self): self.d = {}
    @classmethod
    def make(cls): return cls()
    def set(self, v): self.d['loss'] = v
def f(x, p):
    h = H.make(); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "typeself": HOLDER
    + """
class K(H):
    def fork(self): return type(self)()
def f(x, p):
    k = K(); h = k.fork(); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "sname": """
class H:
    def __init__(s): s.d = {}
    def set(s, v): s.d['loss'] = v
def copyh(h): return [h, h][int(len([h]) - 1)]
def f(x, p):
    h = copyh(H()); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "aug": """
class H:
    def __init__(self): self.l = []
    def push(self, v):
        l = self.l
        l += [v]
def f(x, p):
    h = H(); h.l.append(p); h.push(x); return h.l[1], x
""",
    "partial": HOLDER
    + """
def f(x, p):
    h = H(); h.d["o"] = p; functools.partial(h.set, x)(); return h.d["loss"], x
""",
    "dunder class": HOLDER
    + """
class K:
    def set(self, v): self.d['loss'] = v
class N:
    def __init__(self): self.d = {}
    def set(self, v): pass
def f(x, p):
    h = N(); h.__class__ = K; h.d["loss"] = p; h.set(x); return h.d["loss"], x
""",
    "swap": HOLDER
    + """
class N:
    def __init__(self): self.d = {}
    def set(self, v): pass
def f(x, p):
    h = [N(), H()][len(str(p.shape)) and 1]; h.d["loss"] = p; h.set(x); return h.d["loss"], x
""",
    "super get": HOLDER
    + """
class H2(H):
    def get(self): return self.d["loss"]
class K(H2):
    def get(self):
        return super().get() + 1
def f(x, p):
    h = K(); h.d["loss"] = x; return h.get(), x
""",
    "base get": HOLDER
    + """
class H2(H):
    def get(self): return self.d["loss"]
class K(H2):
    def get(self):
        return H2.get(self) + 1
def f(x, p):
    h = K(); h.d["loss"] = x; return h.get(), x
""",
    "super set2": HOLDER
    + """
class K(H):
    def set(self, v):
        super(K, self).set(v)
def f(x, p):
    h = K(); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "super prop": HOLDER
    + """
class H2(H):
    @property
    def loss(self): return self.d["loss"]
class K(H2):
    @property
    def loss(self):
        return super().loss + 1
def f(x, p):
    h = K(); h.d["loss"] = x; return h.loss, x
""",
    "super var": HOLDER
    + """
class K(H):
    def set(self, v):
        s = super()
        s.set(v)
def f(x, p):
    h = K(); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "shared default": """
class H:
    d = {}
    def set(self, v): self.d['loss'] = v
def f(x, p):
    h = H(); h.set(x); g = H(); g.set(p); h.set(x); return g.d["loss"], x
""",
    "init alias2": """
class H:
    def __init__(self, d): self.d = {'in': d}
    def set(self, v): self.d['in']['loss'] = v
def f(x, p):
    d = {"loss": p}; h = H(d); h.d["o"] = p; h.set(x); return d["loss"], x
""",
    "getattr m": HOLDER
    + """
class K(H):
    def __getattr__(self, n):
        def go(v): self.d['loss'] = v
        return go
def f(x, p):
    h = K(); h.d["o"] = p; h.anything(x); return h.d["loss"], x
""",
    "super get3": HOLDER
    + """
class H2(H):
    def get(self): return self.l
class K(H2):
    def get(self):
        return super().get() + 1
def f(x, p):
    h = K(); h.l = x; return h.get(), x
""",
    "makers": HOLDER
    + """
MAKERS = {"h": lambda: H()}
def f(x, p):
    h = MAKERS["h"](); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "makers3": HOLDER
    + """
def go(): return H()
MAKERS = {"h": go}
def f(x, p):
    h = MAKERS["h"](); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "globs": HOLDER
    + """
def f(x, p):
    h = globals()["H"](); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "evald": HOLDER
    + """
def f(x, p):
    h = eval("H()"); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "sub only": """
class A:
    def __init__(self): self.d = {}
    def set(self, v): self.d['loss'] = v
class Z(A):
    pass
def f(x, p):
    h = [Z()][0 if p.ndim else 0]; h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "outside list": HOLDER
    + """
HS = [H()]
def f(x, p):
    h = HS[int(0)]; h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "registry": """
REG = {}
def reg(c):
    REG[c.__name__] = c
    return c
@reg
class H:
    def __init__(self): self.d = {}
    def set(self, v): self.d["loss"] = v
def f(x, p):
    h = REG["H"](); h.d["o"] = p; h.set(x); return h.d["loss"], x
""",
    "inner cb": HOLDER
    + """
def f(x, p):
    h = H(); h.cb = lambda v: h.d.update(loss=v); h.d["o"] = p; g = h; jax.tree.map(g.cb, x); return h.d["loss"], x
""",
    "given set": TREE
    + """
def f(x, t):
    t.set(x); return t.loss, x
""",
    "given deep": TREE
    + """
def f(x, t):
    t.deep(x); return t.a["k"], x
""",
    "given via": TREE
    + """
def f(x, t):
    t.via(x); return t.loss, x
""",
    "given viaf": TREE
    + """
def f(x, t):
    t.viaf(x); return t.loss, x
""",
    "given item": TREE
    + """
def f(x, t):
    t.item(x); return t.a["k"], x
""",
    "given inner": TREE
    + """
def f(x, t):
    a = t.a; t.deep(x); return a["k"], x
""",
    "given bound": TREE
    + """
def f(x, t):
    s = t.set; s(x); return t.loss, x
""",
    "given treemap": TREE
    + """
def f(x, t):
    jax.tree.map(t.set, x); return t.loss, x
""",
    "given box": TREE
    + """
def f(x, t):
    b = {"t": t}; b["t"].set(x); return t.loss, x
""",
}


@pytest.mark.parametrize("name", BODIES)
def test_what_an_object_is_changed_by(name: str) -> None:
    assert levels(BODIES[name])[0] != "N"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("h = H(); h.set(p); h.d['o'] = p; return h.d['loss'], x", "NY"),
        ("h = H(); h.d['o'] = p; h.set(p); return h.d['loss'], x", "NY"),
        ("h = H(); g = {'h': h}; h.d['o'] = p; g['h'].set(p); return h.d['loss'], x", "NY"),
    ],
)
def test_what_only_equal_values_are_stored_in(body: str, expected: str) -> None:
    assert levels(f"{HOLDER}def f(x, p): {body}\n") == expected


def test_what_the_host_alone_makes_objects_of_is_no_state() -> None:
    """The namesake of an optimizer's `update` changes a meter, which no map is given."""
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), METER)], PlanOptions("auto"))
    found = [(one.name, one.layout) for one in plan.sites[0].outputs]
    assert found == [("0", "replicated"), ("0.key", "stacked"), ("1", "replicated")]


STATIC = """import jax, jax.numpy as jnp, numpy as np
from functools import partial
from flax import jax_utils
from flax.training.common_utils import shard
class I:
    def put(self, v): self.loss = v
class H:
    def __init__(self): self.inner = I(); self.log = [0.0]; self.loss = 0.0
    def set(self, v): self.loss = v
    def push(self, v): self.log.append(v)
    def get(self): return self.loss
    def __call__(self, v): self.loss = v
def other(h, v): h.set(v)
@partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=2)
def step(w, x, h):
    l = jnp.mean(x @ w)
    BODY
w = jax_utils.replicate(np.ones(3, np.float32))
w, loss = step(w, shard(np.ones((16, 3), np.float32)), H())
"""


@pytest.mark.parametrize(
    "body",
    [
        'h.set(l); return w - jax.lax.pmean(l, "batch"), h.get()',
        'other(h, l); return w - jax.lax.pmean(l, "batch"), h.loss',
        's = h.set; s(l); return w - jax.lax.pmean(l, "batch"), h.loss',
        'h.push(l); return w - jax.lax.pmean(l, "batch"), h.log[-1]',
        'h.inner.put(l); return w - jax.lax.pmean(l, "batch"), h.inner.loss',
        'h(l); return w - jax.lax.pmean(l, "batch"), h.loss',
    ],
)
def test_a_static_argument_is_the_callers_own_object(body: str) -> None:
    """It may be of any class, and keeps what a method stores in it: a value of one device here."""
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), STATIC.replace("BODY", body))], PlanOptions("auto"))
    assert [one.layout for one in plan.sites[0].outputs] == ["replicated", "stacked"]
