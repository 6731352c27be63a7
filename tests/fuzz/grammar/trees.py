"""The values that programs pass around: arrays, and the containers that real trainers keep them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.fuzz.grammar.choices import Choices

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Leaf:
    """An array as the body sees it: its shape without the device axis; `kind` is `f`, `i` or `key`."""

    shape: Shape
    kind: str = "f"


@dataclass(frozen=True)
class Tree:
    """A container with named fields; `form` is `dict`, `tuple`, `list`, `named`, `struct`, `registered`."""

    form: str
    fields: tuple[tuple[str, Leaf | Tree], ...]
    name: str = ""

    def of(self, field: str) -> Leaf | Tree:
        """What a field holds."""
        return dict(self.fields)[field]


Type = Leaf | Tree
FORMS = ("dict", "tuple", "named", "struct", "registered", "list")
CLASSES = ("named", "struct", "registered")
METHODS = ["", "    def moved(self, **kwargs):", "        return self.replace(**kwargs)"]  # of states


def access(expression: str, tree: Tree, field: str) -> str:
    """The expression of a field."""
    if tree.form in CLASSES:
        return f"{expression}.{field}"
    if tree.form == "dict":
        return f'{expression}["{field}"]'
    return f"{expression}[{[name for name, _ in tree.fields].index(field)}]"


def build(tree: Tree, values: Mapping[str, str]) -> str:
    """The expression that makes a container of its fields' expressions."""
    if tree.form == "dict":
        return "{" + ", ".join(f'"{name}": {values[name]}' for name, _ in tree.fields) + "}"
    if tree.form in CLASSES:
        return f"{tree.name}({', '.join(f'{name}={values[name]}' for name, _ in tree.fields)})"
    inner = ", ".join(values[name] for name, _ in tree.fields)
    if tree.form == "list":
        return f"[{inner}]"
    return f"({inner},)" if len(tree.fields) == 1 else f"({inner})"


def replaced(choices: Choices, expression: str, tree: Tree, values: Mapping[str, str]) -> str:
    """The expression of a container with some of its fields anew."""
    every = {name: values.get(name, access(expression, tree, name)) for name, _ in tree.fields}
    changed = ", ".join(f"{name}={value}" for name, value in values.items())
    ways = [build(tree, every)]
    if values and tree.form == "dict":
        ways += ["{**" + expression + ", " + ", ".join(f'"{n}": {v}' for n, v in values.items()) + "}"]
        ways += [f"dict({expression}, {changed})"]
    elif values and tree.form == "named":
        ways += [f"{expression}._replace({changed})"]
    elif values and tree.form == "struct":
        ways += [f"{expression}.replace({changed})", f"{expression}.moved({changed})"]
    elif values and tree.form == "registered":
        ways += [f"dataclasses.replace({expression}, {changed})"]
    return choices.pick(ways)


def declaration(tree: Tree) -> list[str]:
    """The lines that declare a container's class, if it has one."""
    fields = [f"    {name}: Any" for name, _ in tree.fields]
    if tree.form == "named":
        return [f"class {tree.name}(NamedTuple):", *fields]
    if tree.form == "struct":
        return ["@flax.struct.dataclass", f"class {tree.name}:", *fields, *METHODS]
    if tree.form == "registered":
        return ["@jax.tree_util.register_dataclass", "@dataclasses.dataclass", f"class {tree.name}:", *fields]
    return []


def declarations(type_: Type) -> list[list[str]]:
    """The declarations of a type's containers, inner ones first."""
    if isinstance(type_, Leaf):
        return []
    inner = [lines for _, field in type_.fields for lines in declarations(field)]
    own = declaration(type_)
    return [*inner, own] if own else inner


def leaves(type_: Type, expression: str) -> list[tuple[str, Leaf]]:
    """The expressions of all arrays of a value."""
    if isinstance(type_, Leaf):
        return [(expression, type_)]
    return [leaf for name, field in type_.fields for leaf in leaves(field, access(expression, type_, name))]


def leaf_names(type_: Type) -> list[str]:
    """The names of a container's fields that are arrays."""
    return [name for name, field in type_.fields if isinstance(field, Leaf)] if isinstance(type_, Tree) else []
