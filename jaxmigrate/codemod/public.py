"""What a function that takes the place of another one says: its docstring, and the types of its parameters."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst
import libcst.matchers as m

from jaxmigrate.codemod.layout import comments_in

TEXT = m.Expr(value=m.SimpleString() | m.ConcatenatedString())
CHECKED = m.Subscript(slice=[m.ZeroOrMore(), m.SubscriptElement(m.Index(m.SimpleString())), m.ZeroOrMore()])


def with_types(outer: cst.FunctionDef, inner: cst.FunctionDef) -> cst.FunctionDef:
    """The function with the annotations of one that takes the same arguments; not with shapes, which are of slices."""
    given = inner.params
    plain = isinstance(given.star_arg, cst.MaybeSentinel) and given.star_kwarg is None
    names = [one.name.value for one in outer.params.params]
    every = {one.name.value: one.annotation for one in (*given.posonly_params, *given.params, *given.kwonly_params)}
    said = [one for one in (*every.values(), inner.returns) if one is not None]
    if not plain or names != [*every] or not said or any(m.findall(one, CHECKED) for one in said):
        return outer
    if any(any(comments_in(one)) for one in said) or outer.params.kwonly_params or outer.params.star_kwarg:
        return outer
    types = {name: one.deep_clone() if one is not None else None for name, one in every.items()}
    params = [one.with_changes(annotation=types[one.name.value]) for one in outer.params.params]
    returns = inner.returns.deep_clone() if inner.returns is not None else None
    return outer.with_changes(params=outer.params.with_changes(params=params), returns=returns)


def with_defaults(outer: cst.FunctionDef, inner: cst.FunctionDef, names: Collection[str]) -> cst.FunctionDef:
    """The function with the defaults that another one has for some of its parameters."""
    given = {one.name.value: one for one in (*inner.params.posonly_params, *inner.params.params)}
    params = [
        one.with_changes(default=said.default.deep_clone(), equal=said.equal)
        if one.name.value in names and (said := given[one.name.value]).default is not None
        else one
        for one in outer.params.params
    ]
    return outer.with_changes(params=outer.params.with_changes(params=params))


def with_docstring(outer: cst.FunctionDef, inner: cst.FunctionDef) -> tuple[cst.FunctionDef, cst.FunctionDef]:
    """The function with the docstring of another one, which is left without."""
    body = inner.body
    first, *rest = body.body
    if not isinstance(body, cst.IndentedBlock) or not rest or not m.matches(first, m.SimpleStatementLine(body=[TEXT])):
        return outer, inner
    below = rest[0]
    assert isinstance(below, cst.SimpleStatementLine | cst.BaseCompoundStatement)
    lines = list(below.leading_lines)
    while lines and lines[0].comment is None:
        del lines[0]
    own = body.with_changes(body=[below.with_changes(leading_lines=lines), *rest[1:]])
    assert isinstance(outer.body, cst.IndentedBlock)
    outer = outer.with_changes(body=outer.body.with_changes(body=[first, *outer.body.body]))
    return outer, inner.with_changes(body=own)
