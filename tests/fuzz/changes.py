"""Changes to a program that mean nothing, and faults that mean something: what a linter has to tell apart."""

from __future__ import annotations

import ast
import builtins
import random
import re
from collections.abc import Callable, Iterator

from tests.fuzz.grammar.program import Files

Change = Callable[[random.Random, Files], Files | None]
REDUCTIONS = ("psum", "pmean", "pmax")
KEPT = {*dir(builtins), "self"}


def renamed(random_: random.Random, files: Files) -> Files | None:
    """Local variables of functions go by other names."""
    tree = ast.parse(files["main.py"])
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    outer = {n.id for f in functions for n in ast.walk(f) if isinstance(n, ast.Name)}
    for function in functions:
        stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        others = {
            n.id
            for other in functions
            if not _within(other, function)
            for n in ast.walk(other)
            if isinstance(n, ast.Name)
        }
        top = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not _holds(functions, n)}
        names = stored - KEPT - others - top - {a.arg for f in functions for a in _parameters(f)}
        for name in sorted(names & outer):
            if random_.random() < 0.5:
                for node in ast.walk(function):
                    if isinstance(node, ast.Name) and node.id == name:
                        node.id = f"{name}_renamed"
    return {**files, "main.py": ast.unparse(tree) + "\n"}


def _within(inner: ast.FunctionDef, outer: ast.FunctionDef) -> bool:
    return any(node is inner for node in ast.walk(outer))


def _holds(functions: list[ast.FunctionDef], name: ast.Name) -> bool:
    return any(node is name for function in functions for node in ast.walk(function))


def _parameters(function: ast.FunctionDef) -> list[ast.arg]:
    arguments = function.args
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return found + [a for a in (arguments.vararg, arguments.kwarg) if a is not None]


def _steps(tree: ast.Module) -> list[ast.FunctionDef]:
    """The mapped functions, wherever they are defined."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.endswith("_step")]


def extracted(random_: random.Random, files: Files, elsewhere: bool = False) -> Files | None:
    """The right side of an assignment in a mapped function becomes a function beside it, or in another module."""
    tree = ast.parse(files["main.py"])
    found = [(s, n) for s in _steps(tree) for n in s.body if isinstance(n, ast.Assign) and _is_plain(n.value)]
    if not found:
        return None
    step, statement = random_.choice(found)
    local = {n.id for n in ast.walk(step) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    local |= {a.arg for a in _parameters(step)} | {f.name for f in ast.walk(step) if isinstance(f, ast.FunctionDef)}
    used = sorted({n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)} & local)
    globals_ = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)} - local - KEPT
    if elsewhere and globals_ - {"jax", "jnp", "np"}:
        return None
    text = f"def extracted({', '.join(used)}):\n    return {ast.unparse(statement.value)}\n"
    statement.value = ast.parse(f"extracted({', '.join(used)})", mode="eval").body
    place = next(i for i, node in enumerate(tree.body) if any(inner is step for inner in ast.walk(node)))
    if not elsewhere:
        tree.body[place:place] = ast.parse(text).body
        return {**files, "main.py": ast.unparse(tree) + "\n"}
    tree.body[place:place] = ast.parse("from moved import extracted").body
    head = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\n\n"
    return {**files, "main.py": ast.unparse(tree) + "\n", "moved.py": head + text}


def _is_plain(value: ast.expr) -> bool:
    return isinstance(value, ast.Call | ast.BinOp) and not any(
        isinstance(n, ast.Lambda | ast.NamedExpr | ast.comprehension | ast.Yield) for n in ast.walk(value)
    )


def moved(random_: random.Random, files: Files) -> Files | None:
    """An extracted function stands in another module."""
    return extracted(random_, files, elsewhere=True)


def wrapped(random_: random.Random, files: Files) -> Files | None:
    """What is mapped goes through jit, partial or a lambda first."""
    how = random_.choice((r"jax.jit(\2)", r"functools.partial(\2)", r"lambda *args: \2(*args)"))
    pattern = r"(jax\.pmap\()((?:steps\.)?\w+_step)(?=[,)])"
    if "static_broadcasted" in files["main.py"]:
        return None
    text, count = re.subn(pattern, rf"\g<1>{how}", files["main.py"])
    return {**files, "main.py": text} if count else None


def unparsed(random_: random.Random, files: Files) -> Files | None:
    """Every file as Python's own printer writes it."""
    return {name: ast.unparse(ast.parse(text)) + "\n" for name, text in files.items()}


def padded(random_: random.Random, files: Files) -> Files | None:
    """Statements that do nothing stand before those of functions."""
    tree = ast.parse(files["main.py"])
    for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
        function.body[0:0] = ast.parse(
            random_.choice(("'''Says something.'''", "pass", "_unused = 0", "assert True"))
        ).body
    ast.fix_missing_locations(tree)
    return {**files, "main.py": ast.unparse(tree) + "\n"}


HARMLESS: dict[str, Change] = {
    "renamed": renamed,
    "extracted": extracted,
    "moved": moved,
    "wrapped": wrapped,
    "unparsed": unparsed,
    "padded": padded,
}


# Faults, each with the group of rules that has to find it.


def _collectives(tree: ast.Module, text: str) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The reductions that a mapped function makes itself, with their axes."""
    for step in _steps(tree):
        for statement in step.body:
            if isinstance(statement, ast.FunctionDef):
                continue
            for node in ast.walk(statement):
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                    continue
                if node.func.attr in REDUCTIONS and len(node.args) > 1 and not node.keywords:
                    yield node, node.args[1]


def unbound(random_: random.Random, files: Files) -> Files | None:
    """A reduction over an axis that nobody binds."""
    tree = ast.parse(files["main.py"])
    found = [call for call, axis in _collectives(tree, files["main.py"]) if isinstance(axis, ast.Constant | ast.Name)]
    if not found:
        return None
    random_.choice(found).args[1] = ast.Constant("bacth")
    return {**files, "main.py": ast.unparse(tree) + "\n"}


def doubled(random_: random.Random, files: Files) -> Files | None:
    """A mean that is taken twice."""
    tree = ast.parse(files["main.py"])
    found = [call for call, _ in _collectives(tree, files["main.py"]) if ast.unparse(call.func) == "jax.lax.pmean"]
    if not found:
        return None
    call = random_.choice(found)
    call.args[0] = ast.parse(ast.unparse(call), mode="eval").body
    return {**files, "main.py": ast.unparse(tree) + "\n"}


def divergent(random_: random.Random, files: Files) -> Files | None:
    """A mean that only one process waits for."""
    tree = ast.parse(files["main.py"])
    found = [
        (step, statement)
        for step in _steps(tree)
        for statement in step.body
        if isinstance(statement, ast.Assign)
        and "jax.lax.pmean(" in ast.unparse(statement.value)
        and ast.unparse(statement.value).startswith("jax.lax.pmean(")
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
    ]
    if not found:
        return None
    step, statement = random_.choice(found)
    place = step.body.index(statement)
    name = ast.unparse(statement.targets[0])
    value = statement.value
    if not isinstance(value, ast.Call):
        return None
    lines = f"{name} = {ast.unparse(value.args[0])}\nif jax.process_index() == 0:\n    {ast.unparse(statement)}"
    step.body[place : place + 1] = ast.parse(lines).body
    return {**files, "main.py": ast.unparse(tree) + "\n"}


FAULTS: dict[str, tuple[str, Change]] = {
    "unbound": ("JM101", unbound),
    "doubled": ("JM202", doubled),
    "divergent": ("JM301", divergent),
}
