# mypy: ignore-errors
"""Uses the recorder's stand-ins in every way that programs use pmap; run by test_recorder.py with the recorder on."""

import copy
import functools
import inspect
import os
import pickle
import threading

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

N = jax.device_count()
mark = __jaxmigrate_transform__  # noqa: F821 - a builtin that the recorder installs
mark_mapped = __jaxmigrate_mapped__  # noqa: F821
pmap = mark("forms", jax.pmap)
ones = np.ones((N, 2), np.float32)


def looks_like_what_it_wraps():
    assert inspect.isfunction(pmap)
    assert pmap.__name__ == "pmap"
    assert inspect.signature(pmap) == inspect.signature(jax.pmap)

    def f(first, second):
        """Says something."""
        return first + second

    mapped = pmap(f)
    assert (mapped.__name__, mapped.__doc__, mapped.__wrapped__) == ("f", f.__doc__, f)
    assert mapped.__module__ == f.__module__
    assert [*inspect.signature(mapped).parameters] == ["first", "second"]
    assert functools.wraps(mapped)(lambda: 0).__name__ == "f"
    assert not hasattr(mapped, "no_such_attribute")
    mapped.note = 1
    assert mapped.note == 1
    assert copy.deepcopy({"f": mapped})["f"] is mapped
    assert {mapped: 1}[mapped] == 1


def binds_where_pmap_binds():
    class Trainer:
        transform = mark("class attribute", functools.partial(jax.pmap, axis_name="i"))
        shared = pmap(lambda self, x: x, static_broadcasted_argnums=0)
        unbound = staticmethod(pmap(lambda x: x + 1))

        @functools.partial(pmap, static_broadcasted_argnums=0)
        def method(self, x):
            return x * 2

    trainer = Trainer()
    assert trainer.method(ones).sum() == 4 * N
    assert trainer.method.__self__ is trainer
    assert trainer.shared(ones).sum() == 2 * N
    assert trainer.unbound(ones).sum() == 4 * N
    assert trainer.transform(lambda x: jax.lax.psum(x, "i"))(ones).sum() == 2 * N * N
    assert trainer.transform.keywords == {"axis_name": "i"}
    assert trainer.method.lower is not None


def transforms_compose():
    mapped = pmap(lambda x: x * 3)
    assert jax.jit(mapped)(ones).sum() == 6 * N
    assert jax.eval_shape(mapped, ones).shape == (N, 2)
    assert jax.grad(lambda x: mapped(x).sum())(ones).sum() == 6 * N
    assert jax.jit(lambda: mapped(ones))().sum() == 6 * N


def decorator_without_a_function():
    def alias(f=None, axis_name="i"):
        return functools.partial(alias, axis_name=axis_name) if f is None else jax.pmap(f, axis_name=axis_name)

    decorate = mark("alias", alias)(axis_name="j")
    assert decorate(lambda x: jax.lax.psum(x, "j"))(ones).sum() == 2 * N * N


class Loud:
    """A value that cannot be compared, shown or turned into an array."""

    def __eq__(self, other):
        raise RuntimeError("compared")

    __hash__ = object.__hash__

    def __repr__(self):
        raise RuntimeError("shown")

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("read")


class Box:
    """A user's pytree, whose static part raises when it is compared."""

    def __init__(self, value, static):
        self.value, self.static = value, static


jax.tree_util.register_pytree_node(Box, lambda box: ((box.value,), box.static), lambda static, kids: Box(*kids, static))


def strange_arguments():
    anything = mark_mapped("strange", lambda *args, **kwargs: args[0] if args else None)
    anything(Loud(), "a\nb", "x" * 100, 3, 2.5, None, np.float32(1), np.array(["a"]), np.array([object()]), [], {})
    anything(Box(ones, Loud()), {"b": 1, "a": (2, [3])})
    anything(Box(ones, Loud()), {"b": 1, "a": (2, [3])})
    array = jax.device_put(ones)
    array.delete()
    anything(array)
    anything()
    assert mark_mapped("strange", 3) == 3
    assert mark("strange", None) is None


def layouts():
    seen = mark_mapped("layouts", lambda x: None)
    for dtype in (np.float32, np.int8, jnp.bfloat16, np.complex64, bool):
        whole = np.arange(N * 4 * 6).reshape(N, 4, 6).astype(dtype)
        seen(whole)
        seen(np.asfortranarray(whole))
        seen(whole[::-1][::-1])
        line = Mesh(jax.devices(), ("i",))
        grid = Mesh(np.reshape(jax.devices(), (N // 2, 2)), ("i", "j"))
        back = Mesh(jax.devices()[::-1], ("i",))
        for mesh, spec in (
            (line, P()),
            (line, P("i")),
            (back, P("i")),
            (grid, P("i")),
            (grid, P("j")),
            (grid, P("i", "j")),
            (grid, P(None, "j")),
            (grid, P(("j", "i"))),
        ):
            seen(jax.device_put(whole, NamedSharding(mesh, spec)))
    # Large slices, which are compared and not hashed where they repeat.
    repeated = np.stack([np.arange(2048, dtype=np.float32)] * N)
    seen(repeated)
    seen(jax.device_put(repeated, NamedSharding(line, P("i"))))
    seen(jax.device_put(repeated, NamedSharding(line, P())))
    for row, column in ((N - 1, 2047), (0, 0)):
        changed = repeated.copy()
        changed[row, column] += 1
        seen(changed)


def nested_calls():
    inner = mark_mapped("inner", lambda x: x + 1)
    mark_mapped("outer", lambda x: inner(x) + inner(x))(ones)


def threads():
    mapped = mark_mapped("threads", lambda x: x)
    for name in ("one", "two"):
        thread = threading.Thread(target=lambda: [mapped(ones) for _ in range(3)], name=name)
        thread.start()
        thread.join()


def forks():
    pid = os.fork()
    if pid == 0:
        mark_mapped("forked", lambda x: x)("child")
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def pickles():
    again = pickle.loads(pickle.dumps(mark_mapped("pickled", max)))
    assert again(3, 4) == 4


for check in (
    looks_like_what_it_wraps,
    binds_where_pmap_binds,
    transforms_compose,
    decorator_without_a_function,
    strange_arguments,
    layouts,
    nested_calls,
    threads,
    forks,
    pickles,
):
    check()
