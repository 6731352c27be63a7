"""The function that stands in for pmap where arrays stay stacked.

`jax.pmap` chooses its mesh at each call, from the size of the mapped axis, takes keyword arguments, and never touches
the backend when it is only built. A bare `jax.shard_map` does none of that, so a file whose arrays stay stacked gets
one small function that does, written out for what the file needs of it and no more. Each line mirrors what `jax.pmap`
itself does since jax 0.8 (`jax/_src/pmap.py`), which is why both compute the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

HELPER_NAME = "_shard_map_stacked"
KEPT_NAME = "kept_map"
NESTED_NAME = "_shard_map_nested"
INSIDE_NAME = "_shard_map_inside"
INNER_NAME = "_InnerAxis"
DEFAULT_AXIS = "mapped_axis"
DEFAULT_AXES = ("devices", "device", DEFAULT_AXIS)
WIDTH = 88


@dataclass(frozen=True, slots=True)
class Needs:
    """What the sites of a file ask of the helper.

    `axis_name` is "given" where every site passes a string, "optional" where one may pass None or nothing, "absent"
    where none passes any. `list_axes` says that an `in_axes` may be a list. `processes` asks for host-local arrays in
    programs of several processes, `for_one` that it raises in one that no file shows to be of several; `lower` and
    `wrapped` ask for the attributes of those names on the result. `inner` says
    that what is mapped may hold maps itself, which share the mesh. `alone` says that an argument whose axis is None may
    lie on one device, where `jax.jit` takes no others beside it, and `moves` that any may lie on devices that are not
    those of the mesh. `again` says that one function may be mapped more than once, `unhashable` that something else may
    be given that has no hash.
    """

    axis_name: Literal["given", "optional", "absent"] = "given"
    in_axes: bool = False
    list_axes: bool = False
    out_axes: bool = False
    static: bool = False
    donate: bool = False
    devices: bool = False
    backend: bool = False
    axis_size: bool = False
    processes: bool = False
    for_one: bool = False
    lower: bool = False
    wrapped: bool = False
    inner: bool = False
    alone: bool = False
    moves: bool = False
    again: bool = False
    unhashable: bool = False

    @property
    def puts(self) -> bool:
        """Whether it lays out arguments before it maps them."""
        return self.alone or self.moves

    @property
    def keeps(self) -> bool:
        """Whether it keeps the maps that it makes, by all that it is given."""
        return self.again and not (self.unhashable and self.trees)

    @property
    def keeps_apart(self) -> bool:
        """Whether a function beside it keeps them, by the leaves of what has no hash itself."""
        return self.again and not self.keeps

    @property
    def trees(self) -> tuple[str, ...]:
        """The parameters that may be given lists and dicts."""
        given = {
            "in_axes": self.in_axes,
            "out_axes": self.out_axes,
            "static_broadcasted_argnums": self.static,
            "donate_argnums": self.donate,
            "devices": self.devices,
        }
        return tuple(name for name, needed in given.items() if needed)

    @property
    def axes(self) -> bool:
        """Whether any axis but the leading one can be mapped."""
        return self.in_axes or self.out_axes


@dataclass(frozen=True, slots=True)
class Names:
    """What the file calls the things that the helper uses; `imports` are lines to put inside the helper instead."""

    helper: str = HELPER_NAME
    nested: str = NESTED_NAME
    inside: str = INSIDE_NAME
    inner: str = INNER_NAME
    jax: str = "jax"
    mesh: str = "Mesh"
    spec: str = "P"
    sharding: str = "NamedSharding"
    multihost: str = "multihost_utils"
    numpy: str = "np"
    cache: str = "functools.lru_cache"
    default_axis: str = DEFAULT_AXIS
    imports: tuple[str, ...] = ()


def only_one(jax: str) -> str:
    """What keeps code of one process from running as several, where the first devices are those of another process."""
    return f'assert {jax}.process_count() == 1, "written for one process"'


def all_devices(jax: str, backend: str = "", *, processes: bool) -> str:
    """The source of all devices in pmap's order.

    With several `processes` it takes those of one process after those of another, and `jax.devices()` need not.
    """
    devices = f"{jax}.devices({backend})"
    return f"sorted({devices}, key=lambda d: d.process_index)" if processes else devices


def helper_lines(needs: Needs, names: Names) -> list[str]:
    """The helper's source, a line each, indented by four spaces, with double quotes."""
    head = [*_signature(needs, names), *_indent([_title(needs)])]
    if needs.keeps_apart:
        return [*head, *_indent(_asks_kept(needs, names))]
    lines = _with_body(head, needs, names)
    return [f"@{names.cache}", *lines] if needs.keeps else lines  # as pmap does: jit knows a map by its identity


def kept_lines(needs: Needs, names: Names) -> list[str]:
    """The source of the function that keeps the maps of a helper that may be given what has no hash."""
    head = [
        f"@{names.cache}",
        f"def {KEPT_NAME}({', '.join(['fun', *_plain(needs), 'leaves', 'tree'])}):",
        '    """The map of fun with the options in leaves; made once, as pmap does."""',
        f"    {_options(needs)} = {names.jax}.tree.unflatten(tree, leaves)",
    ]
    return _with_body(head, needs, names)


def _asks_kept(needs: Needs, names: Names) -> Iterator[str]:
    if needs.devices:
        yield "devices = None if devices is None else tuple(devices)"
    yield f"leaves, tree = {names.jax}.tree.flatten({_options(needs, call=True)})"
    yield f"return {KEPT_NAME}({', '.join(['fun', *_plain(needs), 'tuple(leaves)', 'tree'])})"


def _plain(needs: Needs) -> Iterator[str]:
    """The parameters beside the mapped function that have a hash."""
    given = {"axis_name": needs.axis_name != "absent", "backend": needs.backend, "axis_size": needs.axis_size}
    return (name for name, needed in given.items() if needed)


def _options(needs: Needs, *, call: bool = False) -> str:
    """The parameters that may have no hash, as a tuple."""
    text = ", ".join(needs.trees)
    return f"({text},)" if len(needs.trees) == 1 else f"({text})" if call else text


def _with_body(head: list[str], needs: Needs, names: Names) -> list[str]:
    """A function that makes a map, of which the first lines are there."""
    blocks = [
        [*head, *_indent(_opening(needs, names))],
        *[list(_indent(block)) for block in _inner_functions(needs, names)],
        list(_indent(_closing(needs))),
    ]
    lines: list[str] = []
    for block in blocks:
        if lines and block:
            lines.append("")
        lines.extend(block)
    return lines


def _indent(lines: list[str] | Iterator[str]) -> Iterator[str]:
    return (f"    {line}" if line else "" for line in lines)


def _signature(needs: Needs, names: Names) -> list[str]:
    positional = {"given": ["axis_name"], "optional": ["axis_name=None"], "absent": []}[needs.axis_name]
    wanted = {
        "in_axes=0": needs.in_axes,
        "out_axes=0": needs.out_axes,
        "static_broadcasted_argnums=()": needs.static,
        "donate_argnums=()": needs.donate,
        "devices=None": needs.devices,
        "backend=None": needs.backend,
        "axis_size=None": needs.axis_size,
    }
    keywords = [text for text, needed in wanted.items() if needed]
    parameters = ["fun", *positional, *(["*", *keywords] if keywords else [])]
    line = f"def {names.helper}({', '.join(parameters)}):"
    if len(line) <= WIDTH:
        return [line]
    return [f"def {names.helper}(", *(f"    {parameter}," for parameter in parameters), "):"]


def _title(needs: Needs) -> str:
    over = "an axis" if needs.in_axes else "the leading axis"
    return f'"""Maps fun over {over} of stacked arrays, one slice per device."""'


def _opening(needs: Needs, names: Names) -> Iterator[str]:
    yield from names.imports
    if needs.axis_name == "optional":
        yield "if axis_name is None:"
        yield f'    axis_name = "{names.default_axis}"'
    elif needs.axis_name == "absent":
        yield f'axis_name = "{names.default_axis}"'
    if needs.static:
        yield "static = static_broadcasted_argnums"
        yield "static = (static,) if isinstance(static, int) else tuple(static)"
    if needs.list_axes:
        yield "in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes"


def _inner_functions(needs: Needs, names: Names) -> Iterator[list[str]]:
    if needs.axes:
        yield from _axis_functions(names)
    if needs.static:
        yield [
            "def arrays_of(args):",
            "    return {i: arg for i, arg in enumerate(args) if i not in static}",
        ]
    if needs.in_axes and needs.static:
        yield list(_axes_of())
    if needs.in_axes:
        yield list(_rows_of(needs, names))
    if needs.processes or needs.puts:
        yield list(_mesh_of(needs, names))
    yield list(_mapped(needs, names))
    if needs.moves:
        yield list(_moved(needs, names))
    elif needs.alone:
        yield list(_everywhere(needs, names))
    if needs.processes:
        yield list(_host_local(needs, names))


def _axis_functions(names: Names) -> Iterator[list[str]]:
    jax, spec = names.jax, names.spec
    yield [
        "def per_axis(f, axes, *trees):",
        f"    return {jax}.tree.map(f, axes, *trees, is_leaf=lambda axis: axis is None)",
    ]
    yield [
        "def spec(axis):",
        f"    return {spec}() if axis is None else {spec}(*[None] * axis, axis_name)",
    ]
    yield [
        "def each(change, axis, tree):",
        f"    return tree if axis is None else {jax}.tree.map(lambda x: change(x, (axis,)), tree)",
    ]


def _axes_of() -> Iterator[str]:
    """The axes of (arguments, keyword arguments); pmap's `in_axes` counts static arguments, and keywords map axis 0."""
    yield "def axes_of(arrays):"
    yield "    return {i: in_axes[i] for i in arrays} if isinstance(in_axes, tuple) else in_axes, 0"


def _axes(needs: Needs, arrays: str) -> str:
    """The source of the axes of (arguments, keyword arguments), which keywords map over the first."""
    return f"axes_of({arrays})" if needs.static else "(in_axes, 0)"


def _rows_of(needs: Needs, names: Names) -> Iterator[str]:
    """The size of the mapped axis; like pmap, a ValueError where no array has one."""
    leaves = f"{names.jax}.tree.leaves"
    yield "def rows_of(arrays, kwargs):"
    yield "    def sizes(axis, tree):"
    yield f"        return [n for x in {leaves}(tree) if axis is not None for n in x.shape[axis : axis + 1]]"
    yield ""
    yield f"    rows, *_ = {leaves}(per_axis(sizes, {_axes(needs, 'arrays')}, (arrays, kwargs)))"
    yield "    return rows"


def _mesh_of(needs: Needs, names: Names) -> Iterator[str]:
    yield "def mesh_of(rows):"
    yield from _indent(_mesh_lines(needs, names))
    yield f"    return {_mesh(needs, names)}"


def _mesh_lines(needs: Needs, names: Names) -> Iterator[str]:
    """The devices that pmap takes: those given, else the first ones, grouped by process."""
    if needs.for_one:
        yield only_one(names.jax)
    if needs.axis_size:
        yield "rows = rows if axis_size is None else axis_size"
    if needs.devices:
        default = all_devices(names.jax, "backend" if needs.backend else "", processes=needs.processes)
        given = "devices" if needs.keeps_apart else "list(devices)"
        if needs.processes:  # two statements, of which each has room on its line
            yield from ("if devices is None:", f"    chosen = {default}", "else:", f"    chosen = {given}")
        else:
            yield f"chosen = {default} if devices is None else {given}"


def _mesh(needs: Needs, names: Names) -> str:
    default = all_devices(names.jax, "backend" if needs.backend else "", processes=needs.processes)
    devices = "chosen" if needs.devices else default
    return f"{names.mesh}({devices}[:rows], (axis_name,))"


def _mapped(needs: Needs, names: Names) -> Iterator[str]:
    """The map, compiled; what is static for jit is so only in a call of it."""
    options = _jit(needs)
    yield from [] if options else [f"@{names.jax}.jit"]
    yield "def mapped(*args, **kwargs):"
    yield from _indent(_mapped_body(needs, names))
    if options:
        yield ""
        yield f"mapped = {names.jax}.jit(mapped{options})"


def _mapped_body(needs: Needs, names: Names) -> Iterator[str]:
    arrays = "arrays" if needs.static else "args"
    if needs.static:
        yield "arrays = arrays_of(args)"
        yield ""
    yield from _block(needs, names, arrays)
    yield ""
    if needs.inner:
        yield from _over_one_mesh_or_another(needs, names, arrays)
        return
    yield from _mesh_statement(needs, names, arrays)
    yield from _sharded(needs, names, arrays)


def _sharded(needs: Needs, names: Names, arrays: str) -> Iterator[str]:
    if not needs.axes:
        yield f"spec = {names.spec}(axis_name)"
    in_specs, out_specs = _specs(needs, arrays)
    specs = f"in_specs={in_specs}, out_specs={out_specs}"
    yield f"sharded = {names.jax}.shard_map(block, mesh=mesh, {specs}, check_vma=False)"
    yield f"return sharded({arrays}, kwargs)"


def _over_one_mesh_or_another(needs: Needs, names: Names, arrays: str) -> Iterator[str]:
    """Traces on a mesh of one axis, and where a map inside asks for its own, once more on a mesh of two."""
    yield "def over(devices, names):"
    yield f"    mesh = {names.mesh}(devices, names)"
    yield from _indent(_sharded(needs, names, arrays))
    yield ""
    yield _rows_statement(needs, names, arrays)
    yield from _mesh_lines(needs, names)
    if not needs.devices:
        yield f"chosen = {names.jax}.devices({'backend' if needs.backend else ''})"
    yield "names, grid = (axis_name,), chosen[:rows]"
    yield "try:"
    yield "    return over(grid, names)"
    yield f"except {names.inner} as asked:"
    yield "    inner_name, inner = asked.args"
    yield "names = (axis_name, inner_name)"
    yield "grid = [chosen[i * inner : (i + 1) * inner] for i in range(rows)]"
    yield "return over(grid, names)"


def _specs(needs: Needs, arrays: str) -> tuple[str, str]:
    if not needs.axes:
        return "spec", "spec"
    in_specs = f"per_axis(spec, {_axes(needs, arrays)})" if needs.in_axes else "spec(0)"
    return in_specs, "per_axis(spec, out_axes)" if needs.out_axes else "spec(0)"


def _block(needs: Needs, names: Names, arrays: str) -> Iterator[str]:
    jax = names.jax
    both = f"({arrays}, kwargs)"
    squeeze, expand = f"{jax}.lax.squeeze", f"{jax}.lax.expand_dims"
    yield f"def block({arrays}, kwargs):"
    if needs.in_axes:
        partial = f"lambda axis, tree: each({squeeze}, axis, tree)"
        yield f"    {arrays}, kwargs = per_axis({partial}, {_axes(needs, arrays)}, {both})"
    else:
        yield f"    {arrays}, kwargs = {jax}.tree.map(lambda x: {squeeze}(x, (0,)), {both})"
    given = "args"
    if needs.static:
        given = "[arrays.get(i, arg) for i, arg in enumerate(args)]"
    yield f"    out = fun(*{given}, **kwargs)"
    if needs.out_axes:
        yield f"    return per_axis(lambda axis, tree: each({expand}, axis, tree), out_axes, out)"
    else:
        yield f"    return {jax}.tree.map(lambda x: {expand}(x, (0,)), out)"


def _mesh_statement(needs: Needs, names: Names, arrays: str) -> Iterator[str]:
    yield _rows_statement(needs, names, arrays)
    if needs.processes or needs.puts:
        yield "mesh = mesh_of(rows)"
        return
    yield from _mesh_lines(needs, names)
    yield f"mesh = {_mesh(needs, names)}"


def _rows_statement(needs: Needs, names: Names, arrays: str) -> str:
    leading = f"rows, *_ = {names.jax}.tree.leaves(({arrays}, kwargs))[0].shape"
    return f"rows = rows_of({arrays}, kwargs)" if needs.in_axes else leading


def _jit(needs: Needs) -> str:
    """The source of the keywords of jit."""
    static = ", static_argnums=static" if needs.static else ""
    return f"{static}{', donate_argnums=donate_argnums' if needs.donate else ''}"


def _everywhere(needs: Needs, names: Names) -> Iterator[str]:
    """jit takes no array that one device holds beside arrays on all of them; pmap copied it to all."""
    arrays = "arrays" if needs.static else "args"
    put = f"{names.jax}.device_put(x, sharding) if axis is None else x"
    return _laying_out(
        "everywhere",
        needs,
        [
            f"sharding = {names.sharding}(mesh_of(rows_of({arrays}, kwargs)), {names.spec}())",
            f"{arrays}, kwargs = per_axis(lambda axis, x: {put}, {_axes(needs, arrays)}, ({arrays}, kwargs))",
        ],
    )


def _moved(needs: Needs, names: Names) -> Iterator[str]:
    """jit takes no arrays on other devices than those of its mesh, or in another order; pmap moved them."""
    jax, arrays = names.jax, "arrays" if needs.static else "args"
    by_axis = [
        "mesh = mesh_of(rows)",
        "",
        "def put(axis, tree):",
        f"    return {jax}.device_put(tree, {names.sharding}(mesh, spec(axis)))",
        "",
        f"{arrays}, kwargs = per_axis(put, {_axes(needs, arrays)}, ({arrays}, kwargs))",
    ]
    alike = [
        f"sharding = {names.sharding}(mesh_of(rows), {names.spec}(axis_name))",
        f"{arrays}, kwargs = {jax}.device_put(({arrays}, kwargs), sharding)",
    ]
    return _laying_out("moved", needs, [_rows_statement(needs, names, arrays), *(by_axis if needs.in_axes else alike)])


def _laying_out(name: str, needs: Needs, lines: Sequence[str]) -> Iterator[str]:
    """A function that lays out the arrays among its arguments by some lines, and maps them."""
    yield f"def {name}(*args, **kwargs):"
    if needs.static:
        yield "    arrays = arrays_of(args)"
    yield from (f"    {line}" if line else "" for line in lines)
    if needs.static:
        yield "    args = [arrays.get(i, arg) for i, arg in enumerate(args)]"
    yield "    return mapped(*args, **kwargs)"


def _host_local(needs: Needs, names: Names) -> Iterator[str]:
    """pmap takes and returns each process's own slices; a shard_map over all processes takes global arrays."""
    jax, arrays = names.jax, "arrays" if needs.static else "args"
    yield "def host_local(*args, **kwargs):"
    yield f"    if {jax}.process_count() == 1:"
    yield f"        return {_on_one_process(needs)}(*args, **kwargs)"
    if needs.static:
        yield "    arrays = arrays_of(args)"
    if needs.in_axes:
        one = f"x if isinstance(x, {jax}.Array) else {names.numpy}.asarray(x)"
        yield f"    {arrays} = {jax}.tree.map(lambda x: {one}, {arrays})"
    yield f"    {_rows_statement(needs, names, arrays)}"
    yield f"    mesh = mesh_of(rows * {jax}.process_count())"
    plain = f"{names.spec}(axis_name)"
    in_specs, out_specs = _specs(needs, arrays) if needs.axes else (plain, plain)
    to_global, to_local = "host_local_array_to_global_array", "global_array_to_host_local_array"
    yield f"    {arrays}, kwargs = {names.multihost}.{to_global}(({arrays}, kwargs), mesh, {in_specs})"
    if needs.static:
        yield "    args = [arrays.get(i, arg) for i, arg in enumerate(args)]"
    yield f"    return {names.multihost}.{to_local}(mapped(*args, **kwargs), mesh, {out_specs})"


def _on_one_process(needs: Needs) -> str:
    """The function that is called where there is one process."""
    return "moved" if needs.moves else "everywhere" if needs.alone else "mapped"


def _closing(needs: Needs) -> Iterator[str]:
    result = "host_local" if needs.processes else _on_one_process(needs)
    if result != "mapped" and needs.lower:
        yield f"{result}.lower = mapped.lower"
    if needs.wrapped:
        yield f"{result}.__wrapped__ = fun"
    yield f"return {result}"
