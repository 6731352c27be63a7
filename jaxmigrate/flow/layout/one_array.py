"""Which values host code takes for one array although a map may have given several in a tuple or a list.

Arithmetic with what is no array raises as a rule, and what it gives of a tuple or a list is something else: `x * 2`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import Ref
from jaxmigrate.flow.variance.library import ARRAY_METHODS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trust import Assumption

ARRAY_ATTRIBUTES = frozenset(
    {"T", "aval", "addressable_shards", "at", "committed", "device_buffer", "device_buffers", "flat", "global_shards"}
    | {"is_fully_addressable", "is_fully_replicated", "itemsize", "mT", "nbytes", "ndim", "shape", "sharding", "size"}
    | {"strides", "base", "data", "ctypes", "flags", "device", "traceback"}
)
SAME_FOR_BOTH = frozenset({"dtype", "weak_type"})
OF_ARRAYS = (  # all that arrays of JAX and of NumPy have, and those of torch and TensorFlow that stand beside them
    ARRAY_ATTRIBUTES
    | SAME_FOR_BOTH
    | ARRAY_METHODS
    | {
        "addressable_data",
        "argpartition",
        "byteswap",
        "clone",
        "conjugate",
        "copy_to_host_async",
        "cpu",
        "delete",
        "detach",
    }
    | {
        "devices",
        "dim",
        "dump",
        "dumps",
        "fill",
        "format",
        "getfield",
        "imag",
        "is_deleted",
        "is_ready",
        "numel",
        "numpy",
    }
    | {"on_device_size_in_bytes", "partition", "platform", "put", "real", "resize", "setfield", "setflags", "to_device"}
    | {"tobytes", "tofile", "unsafe_buffer_pointer"}
)
SEVERAL = ast.Tuple | ast.List | ast.Dict | ast.ListComp | ast.DictComp | ast.GeneratorExp
GIVING_SEVERAL = frozenset({"array_split", "dict", "leaves", "list", "split", "tree_leaves", "tuple", "unstack", "zip"})
DEEPEST = 3  # names that stand for one another


def is_one(it: Interpreter, value: Ref, operand: ast.expr | None, frame: Frame) -> bool:
    """Whether a value is one array, certainly or to a reader."""
    return value.is_array or (operand is not None and seems_one(it, value, operand, frame))


def seems_one(it: Interpreter, value: Ref, operand: ast.expr, frame: Frame) -> bool:
    """Whether a reader takes a value for one array: nothing shows that it holds several."""
    shape = value.shape
    several = shape is not None and (shape.kind == "dict" or shape.parts is not None or shape.fields is not None)
    if several or not it.trust.likely or _is_set_to_several(it, operand, frame.module):
        return False
    says = f"`{ast.unparse(operand)}` is one array, and no tuple or list of arrays"
    it.lean([value], Assumption("likely", "splits", "", says, frame.module, operand))
    return True


def seems_several(it: Interpreter, value: Ref, operand: ast.expr, frame: Frame) -> bool:
    """Whether a reader takes a value that is indexed with a number for a tuple or list: its name starts as one.

    All else that the name stands for is made of that, as in `carry, loss = step(carry, batch)`. Or what is taken out is
    asked for what no array has, as `state.opt_state[-1].hyperparams`.
    """
    if value.is_array or not it.trust.likely:
        return False
    if not _is_asked_for_more(operand, frame.module) and not _starts_several(it, operand, frame):
        return False
    says = f"`{ast.unparse(operand)}` is a tuple or list of arrays, and not one array"
    it.lean([value], Assumption("likely", "splits", "", says, frame.module, operand))
    return True


def _is_asked_for_more(operand: ast.expr, module: Module) -> bool:
    """Whether what an index takes out of a value has an attribute that no array has."""
    index = module.table.parents.get(operand)
    above = module.table.parents.get(index) if index is not None else None
    if not isinstance(above, ast.Attribute) or not isinstance(index, ast.Subscript) or index.value is not operand:
        return False
    return above.attr not in OF_ARRAYS and not above.attr.startswith("_")


def _starts_several(it: Interpreter, operand: ast.expr, frame: Frame) -> bool:
    """Whether a name is a tuple or list at first, of which all else is made that it stands for."""
    if not isinstance(operand, ast.Name):
        return False
    made = it.resolver.bindings_at(operand, frame.module)
    starts = [one for one in made if not one.path and isinstance(one.value, ast.Tuple | ast.List) and one.value.elts]
    rest = [one.value for one in made if one not in starts]
    return bool(starts) and all(_goes_round(one, operand.id) for one in rest)


def _goes_round(value: ast.expr | None, name: str) -> bool:
    """Whether a call gives what a name stands for from then on, and is given what it stands for until then."""
    if not isinstance(value, ast.Call):
        return False
    given = (one.value if isinstance(one, ast.Starred) else one for one in value.args)
    return any(isinstance(one, ast.Name) and one.id == name for one in given)


def _is_set_to_several(it: Interpreter, operand: ast.expr, module: Module, depth: int = 0) -> bool:
    """Whether code sets an entry or attribute of that name to a tuple, a list or a dictionary."""
    match operand:
        case (
            ast.Subscript(slice=ast.Constant(value=str(name)))
            | ast.Attribute(attr=name)
            | ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str(name)), *_])
        ):
            program = (one for one in it.resolver.project.program if name in one.text)
            entry = not isinstance(operand, ast.Attribute)
            return any(_gives_several(value, one) for one in program for value in _set_under(name, one, entry=entry))
        case ast.Name(id=name) if depth < DEEPEST:
            return any(_is_set_to_several(it, value, module, depth + 1) for value in _bound(operand, module))
    return False


def _bound(name: ast.Name, module: Module) -> Iterator[ast.expr]:
    """What statements bind a name to, also as a part of a tuple that stands there."""
    scope = module.table.scope_of[name].lookup(name.id)
    for binding in scope.bindings[name.id] if scope is not None else ():
        value = binding.value
        for step in binding.path:
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else ()
            value = parts[step] if isinstance(step, int) and step < len(parts) else None
        if value is not None:
            yield value


def _set_under(name: str, module: Module, *, entry: bool) -> Iterator[ast.expr]:
    """What a module puts under a name: `x["name"] = value`, `x.name = value`, `{"name": value}`, `dict(name=value)`."""
    parents = module.table.parents
    for node in module.mentions.get(name, ()):
        above = parents.get(node)
        match node, above:
            case ast.keyword(value=value), ast.Call(func=func):
                if not entry or last_name(func) in ("dict", "update"):
                    yield value
            case ast.Constant(), ast.Dict(keys=keys, values=values):
                yield from (value for key, value in zip(keys, values, strict=True) if key is node)
            case (ast.Constant(), ast.Subscript(ctx=ast.Store())) | (ast.Attribute(ctx=ast.Store()), _):
                target = above if isinstance(node, ast.Constant) else node
                statement = parents.get(target) if target is not None else None
                if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                    yield statement.value


def _gives_several(value: ast.expr, module: Module) -> bool:
    match value:
        case ast.Name():
            return any(isinstance(one, SEVERAL) for one in _bound(value, module))
        case ast.Call(args=[_, held, *_]) if last_name(value.func) in ("map", "tree_map"):
            return isinstance(held, SEVERAL)
        case ast.Call():
            return last_name(value.func) in GIVING_SEVERAL
    return isinstance(value, SEVERAL)
