"""Where a fault in a random key would change no number, so that planting it says nothing about a linter.

A key matters through what is drawn by it. Three things are told by the texts of a repository alone, its tests left out:
that it draws nothing anywhere, that nothing in it uses the function with the key, and, for a few places that were read
by hand, that what is drawn there is thrown away.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxmigrate.program.imports import imported_files
from jaxmigrate.program.modules import Project

DRAWS = re.compile(
    r"\brandom\.(?:ball|bernoulli|beta|binomial|bits|categorical|cauchy|choice|dirichlet|exponential|gamma|gumbel|laplace"
    r"|logistic|multivariate_normal|normal|permutation|poisson|rademacher|randint|shuffle|truncated_normal|uniform)\b"
    r"|\brngs=|\bmake_rng\b|\bnext_rng_key\b"
)
NOT_STRATIFIED = "eval.py makes its model with use_stratified_sampling=False, which draws nothing"
READ = {
    ("nerfies/evaluation.py", "key_0"): NOT_STRATIFIED,
    ("nerfies/evaluation.py", "key_1"): NOT_STRATIFIED,
    ("nerf/evaluation.py", "rng"): "train.py gives the model randomized=False there, with which it draws nothing",
}


class Repository:
    """The files of a repository that can be read, who imports whom, and its notebooks as they are."""

    def __init__(self, texts: Mapping[Path, str], notebooks: Sequence[str], project: Project) -> None:
        self.texts = texts
        self.notebooks = notebooks
        self.project = project
        self.draws = any(DRAWS.search(text) for text in (*texts.values(), *notebooks))
        self._trees: dict[Path, ast.Module] = {}
        self._importers: dict[Path, list[Path]] = {}
        for path, text in texts.items():
            for target in imported_files(path, text, project):
                self._importers.setdefault(target, []).append(path)

    def why_harmless(self, path: Path, place: ast.expr | ast.stmt, key: str) -> str:
        """Why a fault in a key at a place of a file changes no number; empty where it may well."""
        for (ending, name), reason in READ.items():
            if path.as_posix().endswith(ending) and key == name:
                return reason
        if not self.draws:
            return "nothing in the repository draws"
        function = next((f.name for f in self._functions(path) if place.lineno in range(f.lineno, _end(f))), None)
        in_notebook = any(function in notebook for notebook in self.notebooks) if function is not None else False
        if function is not None and not in_notebook and not self._is_used(function, path, set()):
            return f"nothing in the repository uses {function}"
        return ""

    def _functions(self, path: Path) -> list[ast.FunctionDef]:
        return [node for node in self._tree(path).body if isinstance(node, ast.FunctionDef)]

    def _tree(self, path: Path) -> ast.Module:
        if path not in self._trees:
            self._trees[path] = ast.parse(self.texts[path])
        return self._trees[path]

    def _is_used(self, name: str, path: Path, seen: set[Path]) -> bool:
        """Whether a file, or one that imports it, names a function other than to hand it on under its own name."""
        seen.add(path)
        tree = self._tree(path) if name in self.texts[path] else ast.Module([], [])
        handed_on = [n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and _name(n.targets[0]) == name]
        named = [n for n in ast.walk(tree) if isinstance(n, ast.Name | ast.Attribute) and _name(n) == name]
        meant = [n for n in named if isinstance(n.ctx, ast.Load) and n not in handed_on]
        if any(self._comes_from(n, tree, path) in (None, *seen) for n in meant):
            return True
        return any(self._is_used(name, one, seen) for one in self._importers.get(path, ()) if one not in seen)

    def _comes_from(self, node: ast.expr, tree: ast.Module, path: Path) -> Path | None:
        """The file that `module.function` takes a function from, where `from package import module` says it."""
        owner = node.value.id if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""
        for one in [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]:
            for alias in one.names:
                if (alias.asname or alias.name) == owner:
                    return self.project.find_from(path, f"{one.module or ''}.{alias.name}".lstrip("."), one.level)
        return None


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _end(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) + 1
