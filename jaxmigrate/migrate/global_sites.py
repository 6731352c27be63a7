"""The text of maps with specs: `jax.jit(jax.shard_map(...))`, or the helper's call where arrays stay stacked."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from jaxmigrate.flow.layout.choices import Choice, NamedTuple, SiteChoice
from jaxmigrate.flow.layout.results import Place
from jaxmigrate.migrate.comments import comments_of
from jaxmigrate.migrate.edits import Edit
from jaxmigrate.migrate.global_file import WIDTH, GlobalFile
from jaxmigrate.program.sites import is_decorator, listed
from jaxmigrate.program.values import Constant

MANY = 4  # outputs, which are easier to read as one where they are alike
KEYWORDS = {  # of pmap, with what says the same in the rewrite
    "in_axes": "in_specs",
    "out_axes": "out_specs",
    "donate_argnums": "donate_argnums",
    "static_broadcasted_argnums": "static_argnums",
}


class SiteWriter(GlobalFile):
    """Writes the maps of one file."""

    def _site(self, choice: SiteChoice) -> None:
        node = choice.site.node
        self.result.uses.append(node)
        if choice.site.reference is not None:
            self.result.replaced.add(choice.site.reference.node)
        if is_decorator(node, self.module):
            self.result.edits.append(Edit(*self.positions.span(node), self._decorator(choice)))
            return
        self.result.calls.add(node)
        mapped = choice.site.mapped
        assert mapped is not None
        assert mapped.expression is not None
        start, end = self.positions.span(node)
        inner = self.positions.span(mapped.expression)
        before, after = self._call(choice, self.module.text[inner[0] : inner[1]])
        self.result.edits += [Edit(start, inner[0], before), Edit(inner[1], end, after)]
        self.result.edits += self._moved(mapped.expression, before)

    def _moved(self, mapped: ast.expr, before: str) -> list[Edit]:
        """Moves the further lines of a mapped function along with its first one."""
        column = len(before.rpartition(self.style.newline)[2])
        shift = column - len(self._indent(mapped)) if self.style.newline in before else 0
        if not shift or any(isinstance(n, ast.JoinedStr) or _is_long_string(n) for n in ast.walk(mapped)):
            return []
        lines = range(mapped.lineno + 1, (mapped.end_lineno or mapped.lineno) + 1)
        starts = [self.positions.line_span(line)[0] for line in lines if self._text_of(line).strip()]
        if shift > 0:
            return [Edit(start, start, self.style.indent[0] * shift) for start in starts]
        removed = [Edit(start, start - shift, "") for start in starts]
        return removed if all(not self.module.text[e.start : e.end].strip(" \t") for e in removed) else []

    def _specs(self, choice: SiteChoice) -> tuple[str, str]:
        split = f"{self.names.spec}({self.axes[choice.axis]})"
        texts = {"replicated": f"{self.names.spec}()", "broadcast": f"{self.names.spec}()", "static": "None"}
        ins = [texts.get(c.layout, split) for c in choice.arguments]
        outs = [texts.get(c.layout, split) for c in choice.outputs]
        alike = len(outs) >= MANY and len(set(outs)) == 1 and not any(c.fields for c in choice.outputs)
        return _display(ins), outs[0] if choice.whole or alike else _display(outs)

    def _donated(self, choice: SiteChoice) -> str:
        argument = choice.site.keyword("donate_argnums")
        if argument is None or argument.expression is None:
            return ""
        if choice.keywords:  # which come last, and are not donated
            positional = len(choice.arguments) - len(choice.keywords)
            positions = listed(choice.site, "donate_argnums", self.resolver) or ()
            kept = [str(i) for i in positions if i < positional]
            return _display(kept) if kept else ""
        if argument.module is not self.module:
            value = self.resolver.value(argument.expression, argument.module)
            return repr(value.value) if isinstance(value, Constant) else ast.unparse(argument.expression)
        return argument.module.segment(argument.expression)

    def _static(self, choice: SiteChoice) -> str:
        """The positions of static arguments, for `jax.jit`."""
        positions = [str(i) for i, c in enumerate(choice.arguments) if c.layout == "static"]
        return _display(positions) if positions else ""

    def _keywords(self, choice: SiteChoice) -> list[str]:
        """The keywords of `_shard_map`."""
        if choice.site.node in self.trees:
            return self._tree_keywords(choice)
        in_specs, out_specs = self._specs(choice)
        found = [f"in_specs={in_specs}", f"out_specs={out_specs}"]
        if len({c.axis for c in self._others()}) > 1:
            found.insert(0, f"axis_name={self.axes[choice.axis]}")
        stacked = self._stacked(choice)
        outputs = self._stacked_outputs(choice)
        if stacked:
            found.append(f"stacked={_display([str(i) for i in stacked])}")
        if outputs:
            whole = "True" if self._gives_whole(choice) else _display([str(i) for i in outputs])
            found.append(f"stacked_outputs={whole}")
        found += self._state_keywords(choice)
        if choice.keywords:
            found.append(f"keywords={self._names(choice.keywords)}")
        found += ["by_rows=True"] if choice.by_rows else []
        if alone := self.alone.get(choice.site.node):
            found.append(f"everywhere={_display([str(i) for i in alone])}")
        if own := self._own(choice):
            found.append(f"own={_display([str(i) for i in own])}")
        if own_outputs := self._own_outputs(choice):
            found.append(f"own_outputs={'True' if choice.whole else _display([str(i) for i in own_outputs])}")
        static, donated = self._static(choice), self._donated(choice)
        found += [f"static_argnums={static}"] if static else []
        return [*found, *([f"donate_argnums={donated}"] if donated else [])]

    def _tree_keywords(self, choice: SiteChoice) -> list[str]:
        """The keywords of a `_shard_map` whose specs are trees."""
        stacked = self._stacked(choice)
        ins = [self._tree_spec(c, choice, i in stacked) for i, c in enumerate(choice.arguments)]
        outs = [self._tree_spec(c, choice, stacked=True) for c in choice.outputs]
        found, donated = [f"in_specs={_display(ins)}", f"out_specs={_tree_of(choice, outs)}"], self._donated(choice)
        return [*found, *([f"donate_argnums={donated}"] if donated else [])]

    def _tree_spec(self, choice: Choice, site: SiteChoice, stacked: bool) -> str:
        """The spec of an argument or output; `stacked`: the helper sees to the device axis where it has one."""
        own = f"{self.names.spec}()"
        if choice.of is not None and choice.fields:
            kept = {name for name, _ in choice.fields}
            return _named(choice.of, [self.names.stacked if name in kept else own for name in choice.of.fields])
        if choice.layout == "stacked" and stacked:
            return self.names.stacked
        return own if choice.layout == "replicated" else f"{self.names.spec}({self.axes[site.axis]})"

    def _has_split(self, choice: SiteChoice) -> bool:
        """Whether a site has a spec that is the mapped axis for what is no stacked array of its helper's."""
        kept = self._stacked(choice)
        given = (c.layout == "stacked" and i not in kept for i, c in enumerate(choice.arguments))
        return any(given) or any(c.layout == "split" for c in (*choice.arguments, *choice.outputs))

    def _map_name(self, choice: SiteChoice) -> str:
        """The helper that makes a site's map."""
        return self.names.shard_map_trees if choice.site.node in self.trees else self.names.shard_map

    def _gives_whole(self, choice: SiteChoice) -> bool:
        """Whether all that a function returns is treated as one."""
        return choice.whole or len(self._stacked_outputs(choice)) == len(choice.outputs) >= MANY

    def _state_keywords(self, choice: SiteChoice) -> list[str]:
        """The fields of objects that stay stacked, and the outputs that have those of an argument."""
        fields = {i: self._names([name for name, _ in c.fields]) for i, c in enumerate(choice.arguments) if c.fields}
        if not fields:
            return []
        found = [f"stacked_fields={{{', '.join(f'{i}: {names}' for i, names in fields.items())}}}"]
        like = {i: c.like for i, c in enumerate(choice.outputs) if c.fields}
        if choice.whole:
            return [*found, f"whole_state={like[0]}"] if like else found
        return [*found, f"state_outputs={like}"] if like else found

    def _names(self, names: Sequence[str]) -> str:
        """A tuple of strings, in the file's quotes."""
        quote = self.style.quote
        return _display([f"{quote}{name}{quote}" for name in names])

    def _hanging(self, choice: SiteChoice) -> str:
        """The indentation of a call's arguments: that of the mapped function where it has a line to itself."""
        mapped = choice.site.mapped
        if mapped is not None and mapped.expression is not None and mapped.module is self.module:
            start, indent = self.positions.span(mapped.expression)[0], self._indent(mapped.expression)
            line, _ = self.positions.line_span(mapped.expression.lineno)
            if start == line + len(indent) and len(indent) > len(self._indent(choice.site.node)):
                return indent
        return self._indent(choice.site.node) + self.style.indent

    def _call(self, choice: SiteChoice, mapped: str) -> tuple[str, str]:
        """What stands before and after the mapped function."""
        unit, newline = self.style.indent, self.style.newline
        indent = self._indent(choice.site.node)
        comments, beside = self._comments(choice)
        if self._is_deferred(choice):
            keywords = self._keywords(choice)
            helper = self._map_name(choice)
            line = f"{helper}({mapped}, {', '.join(keywords)})"
            if self._fits(choice.site.node, line) and not comments and not beside:
                return f"{helper}(", f", {', '.join(keywords)})"
            inner = f"{newline}{self._hanging(choice)}"
            after = "".join(
                f",{inner}{_above(beside, keyword, inner)}{self._wrapped(keyword, inner)}" for keyword in keywords
            )
            noted = "".join(f"{inner}{comment}" for comment in comments)
            return f"{helper}({noted}{inner}", f"{after},{newline}{indent})"
        in_specs, out_specs = self._specs(choice)
        arguments = [f"mesh={self._mesh(choice.site.node)}", f"in_specs={in_specs}", f"out_specs={out_specs}"]
        arguments.append("check_vma=False")
        jax = self.names.jax
        static, donated = self._static(choice), self._donated(choice)
        options = [f"static_argnums={static}"] if static else []
        options += [f"donate_argnums={donated}"] if donated else []
        inner = f"{newline}{self._hanging(choice)}"
        deep = f"{inner}{unit}"
        noted = "".join(f"{inner}{comment}" for comment in comments)
        before = f"{jax}.jit({noted}{inner}{jax}.shard_map({deep}"
        after = "".join(
            f",{deep}{_above(beside, argument, deep)}{self._wrapped(argument, deep)}" for argument in arguments
        )
        after += f",{inner}),"
        last = "".join(f"{inner}{_above(beside, option, inner)}{option}," for option in options)
        after += last
        one = f"{jax}.shard_map({mapped}, {', '.join(arguments)})"
        noted_inside = any(argument.partition("=")[0] in beside for argument in arguments)
        if newline not in mapped and len(indent + unit + one) < WIDTH and not noted_inside:
            before = f"{jax}.jit({noted}{inner}{jax}.shard_map("
            after = f", {', '.join(arguments)}),{last}"
        return before, f"{after}{newline}{indent})"

    def _wrapped(self, keyword: str, before: str) -> str:
        """A keyword whose tuple does not fit on its line, on several; `before` is the line break and its indent."""
        opening, parts = _parts(keyword)
        if len(before) + len(keyword) < WIDTH or not parts:
            return keyword
        inner, lines = before + self.style.indent, [""]
        for part in parts:
            alone = "=" in part  # an argument by keyword has a line to itself
            if lines[-1] and (alone or len(inner) + len(lines[-1]) + len(part) + 2 >= WIDTH):
                lines.append("")
            lines[-1] += f"{' ' if lines[-1] else ''}{self._wrapped(part, inner)},"
        return f"{opening}({inner}{inner.join(lines)}{before})"

    def _decorator(self, choice: SiteChoice) -> str:
        keywords = self._keywords(choice)
        joined = ", ".join(keywords)
        partial, helper = self._partial(), self._map_name(choice)
        if partial is None:
            return f"lambda fun: {helper}(fun, {joined})"
        line = f"{partial}({helper}, {joined})"
        indent = self._indent(choice.site.node)
        if len(indent) + len(line) < WIDTH:
            return line
        newline = self.style.newline
        inner = f"{newline}{indent}{self.style.indent}"
        parts = "".join(f"{inner}{self._wrapped(keyword, inner)}," for keyword in keywords)
        return f"{partial}({inner}{helper},{parts}{newline}{indent})"

    def _partial(self) -> str | None:
        """What the file calls functools.partial."""
        for name, bindings in self.module.table.root.bindings.items():
            for binding in bindings:
                if isinstance(binding.node, ast.alias):
                    if binding.kind == "import" and binding.node.name == "functools":
                        return f"{name}.partial"
                    statement = self.module.table.parents.get(binding.node)
                    source = getattr(statement, "module", "")
                    if binding.kind == "from" and source == "functools" and binding.node.name == "partial":
                        return name
        return None

    def _comments(self, choice: SiteChoice) -> tuple[list[str], dict[str, list[str]]]:
        """Comments between the arguments of a call that is written anew, and those that are about a keyword, by it."""
        mapped, node = choice.site.mapped, choice.site.node
        if mapped is None or mapped.expression is None or not isinstance(node, ast.Call):
            return [], {}
        start, end = self.positions.span(node)
        low, high = self.positions.span(mapped.expression)
        written = {"in_specs", "out_specs"}
        written |= {"static_argnums"} if self._static(choice) else set()
        written |= {"donate_argnums"} if self._donated(choice) else set()
        others: list[str] = []
        beside: dict[str, list[str]] = {}
        for offset, comment in comments_of(self.module.text[start:end]):
            place = start + offset
            if low <= place < high:
                continue
            name = self._noted(node, place) if place >= high else ""
            if name in written:
                beside.setdefault(name, []).append(comment)
            else:
                others.append(comment)
        return others, beside

    def _noted(self, call: ast.Call, place: int) -> str:
        """The keyword of the rewrite that a comment is about, which it follows on its line or stands above."""
        line = self.positions.line_of(place)
        spans = [(keyword.arg or "", *self.positions.span(keyword)) for keyword in call.keywords]
        on_line = [name for name, _, end in spans if end <= place and self.positions.line_of(end) == line]
        below = [name for name, start, _ in spans if start > place]
        return KEYWORDS.get(next(iter([*on_line[-1:], *below[:1]]), ""), "")


def _above(beside: Mapping[str, Sequence[str]], keyword: str, indent: str) -> str:
    """The comments about a keyword, each on a line of its own."""
    return "".join(f"{comment}{indent}" for comment in beside.get(keyword.partition("=")[0], ()))


def _parts(argument: str) -> tuple[str, list[str]]:
    """What stands before the parenthesis of a tuple's or call's text, and what is within; nothing for anything else.

    The text may be an argument by keyword.
    """
    call = ast.parse(f"f({argument})", mode="eval").body
    assert isinstance(call, ast.Call)
    value = call.keywords[0].value if call.keywords else call.args[0]
    if not isinstance(value, ast.Tuple | ast.Call):
        return "", []
    text = ast.unparse(call.func) + f"({argument})"
    every = value.elts if isinstance(value, ast.Tuple) else [*value.args, *value.keywords]
    start = (ast.get_source_segment(text, value.func) or "") if isinstance(value, ast.Call) else ""
    name = f"{call.keywords[0].arg}=" if call.keywords else ""
    return name + start, [ast.get_source_segment(text, one) or "" for one in every]


def _tree_of(choice: SiteChoice, specs: Sequence[str]) -> str:
    """The specs of outputs, as they stand in what a function returns."""
    grouped: dict[Place, list[str]] = {}
    for place, spec in zip(choice.tree.places, specs, strict=True):
        grouped.setdefault(place[:-1] if place and isinstance(place[-1], str) else place, []).append(spec)
    named = choice.tree.named
    texts = [_named(named[place], found) if place in named else found[0] for place, found in grouped.items()]
    return texts[0] if () in grouped else _display(texts)


def _named(made: NamedTuple, specs: Sequence[str]) -> str:
    """A named tuple of specs."""
    return f"{made.name}({', '.join(f'{name}={spec}' for name, spec in zip(made.fields, specs, strict=True))})"


def _is_long_string(node: ast.AST) -> bool:
    """Whether a string goes over several lines, which cannot move."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and node.lineno != node.end_lineno


def _display(parts: Sequence[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
