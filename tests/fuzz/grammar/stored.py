"""Functions that a program keeps somewhere and a body calls from there: on attributes, in tables, behind decorators."""

from __future__ import annotations

from tests.fuzz.grammar.bodies import Scope

# What keeps a function of `v`, above the mapped functions, and how a body calls it; {n} is a name, {body} its result.
ATTRIBUTE = """
{n} = SimpleNamespace()
{n}.f = lambda v: {body}
"""
TABLE = """
def {n}_told(v):
    return {body}


{n} = {{"a": {n}_told}}
"""
CLASS = """
class {n}:
    def __init__(self):
        self.f = lambda v: {body}
"""
DECORATOR = """
{n} = {{}}


def {n}_put(f):
    {n}[f.__name__] = f
    return f


@{n}_put
def told(v):
    return {body}
"""
OUT_OF_SIGHT = """
{n} = string.Formatter()
{n}.get_value = lambda key, args, _: (lambda v: {body})(args[key])
"""
HOOK = """
class {n}(string.Formatter):
    def get_value(self, key, args, _):
        v = args[key]
        return {body}
"""
PART = """
class {n}:
    def __init__(self, f):
        self.part = SimpleNamespace(f=f)

    def run(self, v):
        return self.part.f(v)


{n}_one = {n}(lambda v: {body})
"""
DISPATCH = """
@functools.singledispatch
def {n}(v):
    return v


@{n}.register(object)
def {n}_told(v):
    return {body}
"""
KEPT = (
    (ATTRIBUTE, "{n}.f({v})"),
    (TABLE, "{n}['a']({v})"),
    (CLASS, "{n}().f({v})"),
    (DECORATOR, "{n}['told']({v})"),
    (OUT_OF_SIGHT, "{n}.get_field('0', ({v},), {{}})[0]"),
    (HOOK, "{n}().get_field('0', ({v},), {{}})[0]"),
    (PART, "{n}_one.run({v})"),
    (DISPATCH, "{n}({v})"),
)


def stored(scope: Scope) -> None:
    """Calls some functions that are kept somewhere."""
    for _ in scope.choices.times(20, 2):
        value = scope.choices.pick(scope.floats())
        bodies = ["v * 0.5"]
        if not scope.mute:
            mean, index = f"jax.lax.pmean(v, {scope.axis})", f"v * (1.0 + jax.lax.axis_index({scope.axis}))"
            bodies += [mean, index, f"{mean} + v"]
        above, call = scope.choices.pick(KEPT)
        name, body = scope.name("kept"), scope.choices.pick(bodies)
        scope.above.append(above.strip().format(n=name, body=body).splitlines())
        scope.let(call.format(n=name, v=value.code), value.shape)
