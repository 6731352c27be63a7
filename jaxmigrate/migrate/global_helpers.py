"""The few small functions that a rewrite with global arrays adds, each only where one or two specs do not say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

WIDTH = 88
SHARD_MAP, REPLICATE, SHARD, PREFETCH, STACK = "_shard_map", "_replicate", "_shard", "_prefetch", "_stack"
SHARD_MAP_TREES, STACKED = "_shard_map_trees", "_STACKED"
COMPILED = "compiled"


@dataclass(frozen=True, slots=True)
class GlobalNames:
    """What a file calls the things that rewritten code uses."""

    jax: str = "jax"
    jax_numpy: str = "jax.numpy"
    numpy: str = "np"
    mesh_class: str = "Mesh"
    spec: str = "P"
    sharding: str = "NamedSharding"
    multihost: str = "multihost_utils"
    mesh: str = "mesh"
    shard_map: str = SHARD_MAP
    replicate: str = REPLICATE
    shard: str = SHARD
    prefetch: str = PREFETCH
    stack: str = STACK
    shard_map_trees: str = SHARD_MAP_TREES
    stacked: str = STACKED
    numpy_import: str = ""


@dataclass(frozen=True, slots=True)
class MapNeeds:
    """What the sites of a file ask of its `_shard_map`.

    Stacked arguments; stacked outputs, which are all that a function gives or some of it; donation, static
    arguments, several processes, devices ordered by process, and a name for the axis where sites differ in it;
    `everywhere`: arguments that one device holds; `own`: arguments without a device axis, of which each process has
    arrays of its own, as of such outputs, which are all that a function gives or some of it; `keywords`: arguments that
    are given by keyword, which come last everywhere else; `by_rows`: arguments that may hold slices for fewer devices
    than there are; `split`: arrays whose spec is that of stacked ones, where only marks among the specs tell these;
    `copies` are the methods that copy objects of which some fields are stacked, and `state_outputs` and `whole_state`
    say that functions return such objects, among others or alone.
    """

    stacked: bool = False
    stacked_whole: bool = False
    stacked_parts: bool = False
    donate: bool = False
    static: bool = False
    everywhere: bool = False
    own: bool = False
    own_whole: bool = False
    own_parts: bool = False
    keywords: bool = False
    processes: bool = False
    ordered: bool = False
    named: bool = False
    by_rows: bool = False
    split: bool = False
    copies: frozenset[str] = frozenset()
    state_outputs: bool = False
    whole_state: bool = False

    @property
    def stacked_outputs(self) -> bool:
        """Whether the device axis is added to anything."""
        return self.stacked_whole or self.stacked_parts

    @property
    def own_outputs(self) -> bool:
        """Whether processes get arrays of their own of anything without a device axis."""
        return self.own_whole or self.own_parts


def devices(names: GlobalNames, processes: bool) -> str:
    """The devices of a mesh in the order in which pmap numbers them."""
    if not processes:
        return f"{names.jax}.devices()"
    return f"sorted({names.jax}.devices(), key=lambda d: d.process_index)"


def mesh_text(names: GlobalNames, axis: str, processes: bool, rows: str = "") -> str:
    """The expression that builds the mesh; `axis` is the source of its axis name, `rows` of a number of devices."""
    chosen = f"[:{rows}]" if rows else ""
    return f"{names.mesh_class}({devices(names, processes)}{chosen}, ({axis},))"


def mesh_lines(names: GlobalNames, needs: MapNeeds, axis: str, *, local: bool = False) -> Iterator[str]:
    """Builds the mesh of a call, of as many devices as its arrays have slices for where that shows only then."""
    if needs.by_rows:
        rows = f"{names.jax}.tree.leaves(args)[0].shape[0]"
        every = f" * {names.jax}.process_count()" if local else ""
        yield f"        rows = {rows}{every} if by_rows else None"
    yield f"        mesh = {mesh_text(names, axis, needs.ordered, 'rows' if needs.by_rows else '')}"


def replicate_lines(names: GlobalNames, *, weakly: bool, unlike: bool) -> Iterator[str]:
    """Copies, since `device_put` may alias its operand, which a later donation would delete.

    `weakly`: Python's numbers keep their weak dtypes, as they do in jaxline's function. `unlike`: some array may lie on
    all devices with unlike copies; what is replicated of it is the first device's, as flax and `stack` take it.
    """
    jax = names.jax
    chosen = ", the first one's where theirs differ" if unlike else ""
    yield f"def {names.replicate}(tree, mesh):"
    yield f'    """Copies every array to all devices of the mesh{chosen}."""'
    if names.numpy_import and not weakly:
        yield f"    {names.numpy_import}"
        yield ""
    yield f"    sharding = {names.sharding}(mesh, {names.spec}())"
    if weakly and not unlike:
        yield f"    return {jax}.tree.map("
        yield f"        lambda x: {jax}.device_put({names.jax_numpy}.array(x), sharding), tree"
        yield "    )"
        return
    yield ""
    yield "    def put(x):"
    if unlike:
        yield f"        if isinstance(x, {jax}.Array) and x.is_fully_replicated:"
        yield "            x = x.addressable_data(0)"
    if weakly:
        yield f"        x = {names.jax_numpy}.array(x)"
    else:
        yield f"        x = {names.jax_numpy}.copy(x) if isinstance(x, {jax}.Array) else {names.numpy}.array(x)"
    yield f"        return {jax}.device_put(x, sharding)"
    yield ""
    yield f"    return {jax}.tree.map(put, tree)"


def shard_lines(names: GlobalNames, axis: str, processes: bool) -> Iterator[str]:
    """A host's batch as one array over all devices, and over all processes where there may be several."""
    jax = names.jax
    yield f"def {names.shard}(tree, mesh):"
    yield '    """Splits the leading axis of every array of this host\'s batch over the devices of the mesh."""'
    yield f"    sharding = {names.sharding}(mesh, {names.spec}({axis}))"
    if processes:
        yield f"    return {jax}.tree.map("
        yield f"        lambda x: {jax}.make_array_from_process_local_data(sharding, x), tree"
        yield "    )"
    else:
        yield f"    return {jax}.device_put(tree, sharding)"


def stack_lines(names: GlobalNames, axis: str, processes: bool) -> Iterator[str]:
    """What pmap's arrays looked like, for code that only reads them; several processes see their own devices'."""
    jax, sharding = names.jax, names.sharding
    one = "x.addressable_data(0)" if processes else "x"
    yield f"def {names.stack}(tree):"
    yield '    """Gives every array a leading axis with one slice for each device, for code that reads it so."""'
    yield f"    mesh = {names.mesh_class}({jax}.local_devices(), ({axis},))"
    yield ""
    yield "    def stack(x):"
    yield f"        x = {jax}.device_put({one}, {sharding}(mesh, {names.spec}()))"
    yield f"        split = {sharding}(mesh, {names.spec}({axis}))"
    yield f"        expand = {jax}.jit({names.jax_numpy}.broadcast_to, static_argnums=1, out_shardings=split)"
    yield "        return expand(x, (mesh.size, *x.shape))"
    yield ""
    yield f"    return {jax}.tree.map(stack, tree)"


def prefetch_lines(names: GlobalNames) -> Iterator[str]:
    """What flax's `prefetch_to_device` does beside putting arrays on devices: it asks for them ahead of their use."""
    yield f"def {names.prefetch}(iterator, size):"
    yield '    """Takes size elements, whose arrays are on their way to the devices, ahead of their use."""'
    yield "    iterator = iter(iterator)"
    yield "    queue = []"
    yield "    for element in iterator:"
    yield "        queue.append(element)"
    yield "        if len(queue) >= size:"
    yield "            yield queue.pop(0)"
    yield "    yield from queue"


def shard_map_lines(names: GlobalNames, needs: MapNeeds, axis: str) -> Iterator[str]:
    """`jax.shard_map` whose mesh is built at the first call, and whose function may take and give stacked arrays."""
    axis = "axis_name" if needs.named else axis
    stacked = needs.stacked or needs.stacked_outputs
    several = needs.processes and (stacked or needs.own or needs.own_outputs)
    yield from signature(names, needs)
    yield from by_position_lines(needs)
    yield from _block(names, needs, several=several)
    fun = "block" if stacked else called(needs)
    yield from head_lines("mapped", needs, is_outermost=not several and not needs.everywhere)
    yield from mesh_lines(names, needs, axis)
    yield f"        return {names.jax}.shard_map("
    yield f"            {fun}, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False"
    yield "        )(*args)"
    yield ""
    yield from compiled_lines(names, needs, axis, _host_local(names, needs, axis) if several else None)


def compiled_lines(names: GlobalNames, needs: MapNeeds, axis: str, several: Iterable[str] | None) -> Iterator[str]:
    """The end of `_shard_map`: `mapped` is compiled, and `several` are the lines of a call where processes are several.

    Stacked arrays hold the slices of a process's own devices there.
    """
    static = ", static_argnums=static_argnums" if needs.static else ""
    donate = ", donate_argnums=donate_argnums" if needs.donate else ""
    jitted = f"{names.jax}.jit(mapped{static}{donate})"
    if needs.everywhere:
        yield from _everywhere(names, needs, axis, jitted, is_outermost=several is None)
        jitted = COMPILED
    if several is None:
        yield f"    return {jitted}"
        return
    if jitted != COMPILED:
        yield f"    {COMPILED} = {jitted}"
        yield ""
    yield from head_lines("host_local", needs, is_outermost=True)
    yield f"        if {names.jax}.process_count() == 1:"
    yield f"            return {COMPILED}(*args)"
    yield from mesh_lines(names, needs, axis, local=True)
    yield from several
    yield ""
    yield "    return host_local"


def signature(names: GlobalNames, needs: MapNeeds) -> Iterator[str]:
    """The head of `_shard_map`, with its docstring."""
    keywords = [*(["axis_name"] if needs.named else []), "in_specs", "out_specs"]
    keywords += ["stacked=()"] if needs.stacked else []
    keywords += ["stacked_outputs=()"] if needs.stacked_outputs else []
    keywords += ["stacked_fields=None"] if needs.copies else []
    keywords += ["state_outputs=None"] if needs.state_outputs else []
    keywords += ["whole_state=None"] if needs.whole_state else []
    keywords += ["keywords=()"] if needs.keywords else []
    keywords += ["by_rows=False"] if needs.by_rows else []
    keywords += ["everywhere=()"] if needs.everywhere else []
    keywords += ["own=()"] if needs.own else []
    keywords += ["own_outputs=()"] if needs.own_outputs else []
    keywords += ["static_argnums=()"] if needs.static else []
    keywords += ["donate_argnums=()"] if needs.donate else []
    line = f"def {names.shard_map}(fun, *, {', '.join(keywords)}):"
    if len(line) <= WIDTH:
        yield line
    elif len(", ".join(keywords)) < WIDTH - 12:
        yield f"def {names.shard_map}("
        yield f"    fun, *, {', '.join(keywords)}"
        yield "):"
    else:
        yield f"def {names.shard_map}("
        yield from (f"    {one}," for one in ["fun", "*", *keywords])
        yield "):"
    if needs.copies:
        yield '    """Maps fun over all devices; of states, the named fields hold one slice for each of them."""'
    elif needs.stacked or needs.stacked_outputs:
        yield '    """Maps fun over all devices; stacked arrays hold one slice for each of them."""'
    elif needs.own or needs.own_outputs:
        yield '    """Maps fun over all devices; of what they share, each process has arrays of its own."""'
    else:
        yield '    """Maps fun over all devices; the mesh is built at the first call, not at import."""'
    yield ""


def _everywhere(names: GlobalNames, needs: MapNeeds, axis: str, jitted: str, *, is_outermost: bool) -> Iterator[str]:
    """jit takes no array that one device holds beside arrays on all of them; pmap copied it to all."""
    yield f"    jitted = {jitted}"
    yield ""
    yield from head_lines(COMPILED, needs, is_outermost=is_outermost)
    yield f"        sharding = {names.sharding}({mesh_text(names, axis, needs.ordered)}, {names.spec}())"
    yield "        args = ["
    yield f"            {names.jax}.device_put(x, sharding) if i in everywhere else x"
    yield "            for i, x in enumerate(args)"
    yield "        ]"
    yield "        return jitted(*args)"
    yield ""


def called(needs: MapNeeds) -> str:
    """The mapped function as it is called with all arguments by position."""
    return "by_position" if needs.keywords else "fun"


def by_position_lines(needs: MapNeeds) -> Iterator[str]:
    """A shard_map takes no keywords: they are positions on the way, and keywords again for the mapped function."""
    if needs.keywords:
        yield f"    def {called(needs)}(*args):"
        yield "        count = len(args) - len(keywords)"
        yield "        return fun(*args[:count], **dict(zip(keywords, args[count:])))"
        yield ""


def head_lines(name: str, needs: MapNeeds, *, is_outermost: bool) -> Iterator[str]:
    """The head of a function that takes what the mapped one does; what is given by keyword comes last within."""
    if needs.keywords and is_outermost:
        yield f"    def {name}(*args, **kwargs):"
        yield "        args = [*args, *(kwargs[name] for name in keywords)]"
    else:
        yield f"    def {name}(*args):"


def _block(names: GlobalNames, needs: MapNeeds, *, several: bool) -> Iterator[str]:
    """The function that sees blocks; where processes are several, `inputs` and `outputs` change them for it as well."""
    if not (needs.stacked or needs.stacked_outputs):
        return
    if needs.stacked:
        yield "    def squeeze(tree):"
        yield f"        return {names.jax}.tree.map(lambda x: x.squeeze(0), tree)"
        yield ""
    if needs.stacked_outputs:
        yield "    def expand(tree):"
        yield f"        return {names.jax}.tree.map(lambda x: {names.jax_numpy}.expand_dims(x, 0), tree)"
        yield ""
    if several:
        yield from _changed(needs)
    yield "    def block(*args):"
    if several:
        yield f"        return {_through(needs, 'squeeze', 'expand', called(needs))}"
        yield ""
        return
    if needs.stacked:
        yield f"        args = {_inputs('squeeze')}"
    if needs.stacked_outputs:
        yield f"        out = {called(needs)}(*args)"
        yield from (f"        {line}" for line in _outputs(needs, "expand"))
    else:
        yield f"        return {called(needs)}(*args)"
    yield ""


def _changed(needs: MapNeeds) -> Iterator[str]:
    """What is done to the stacked arrays among arguments and among outputs, on the devices and on the host."""
    if needs.stacked:
        yield "    def inputs(change, args):"
        yield f"        return {_inputs('change')}"
        yield ""
    if needs.stacked_outputs:
        yield "    def outputs(change, out):"
        yield from (f"        {line}" for line in _outputs(needs, "change"))
        yield ""


def _through(needs: MapNeeds, before: str, after: str, function: str) -> str:
    """A call of a function, with what `inputs` and `outputs` do around it."""
    call = f"{function}(*inputs({before}, args))" if needs.stacked else f"{function}(*args)"
    return f"outputs({after}, {call})" if needs.stacked_outputs else call


def _inputs(change: str) -> str:
    return f"[{change}(x) if i in stacked else x for i, x in enumerate(args)]"


def _outputs(needs: MapNeeds, change: str) -> Iterator[str]:
    """Returns `out` with all of it changed that is stacked; sites of one file differ in what that is."""
    yield from _changed_outputs(change, "stacked_outputs", needs.stacked_whole, needs.stacked_parts)


def _changed_outputs(change: str, chosen: str, whole: bool, parts: bool) -> Iterator[str]:
    if not parts:
        yield f"return {change}(out) if {chosen} else out"
        return
    if whole:
        yield f"if {chosen} is True:"
        yield f"    return {change}(out)"
    yield f"if not {chosen}:"
    yield "    return out"
    yield f"return tuple({change}(x) if i in {chosen} else x for i, x in enumerate(out))"


def _host_local(names: GlobalNames, needs: MapNeeds, axis: str) -> Iterator[str]:
    """A call whose stacked arrays are converted on the way in, and on the way out."""
    yield ""
    if needs.stacked:
        yield from _converter(names, "to_global", "host_local_array_to_global_array", axis)
    if needs.stacked_outputs:
        yield from _converter(names, "to_local", "global_array_to_host_local_array", axis)
    if needs.own:
        yield from _shared(names)
        yield "        args = [shared(x) if i in own else x for i, x in enumerate(args)]"
    call = _through(needs, "to_global", "to_local", COMPILED)
    if not needs.own_outputs:
        yield f"        return {call}"
        return
    yield ""
    yield "        def owned(tree):"
    yield f"            return {names.multihost}.global_array_to_host_local_array(tree, mesh, {names.spec}())"
    yield ""
    yield f"        out = {call}"
    lines = _changed_outputs("owned", "own_outputs", needs.own_whole, needs.own_parts)
    yield from (f"        {line}" for line in lines)


def _shared(names: GlobalNames) -> Iterator[str]:
    """Arrays that each process has of its own as such of all; numbers stay what they are."""
    jax = names.jax
    yield "        def shared(tree):"
    yield "            def put(x):"
    yield f"                if not isinstance(x, {jax}.Array):"
    yield "                    return x"
    yield f"                return {names.multihost}.host_local_array_to_global_array(x, mesh, {names.spec}())"
    yield ""
    yield f"            return {jax}.tree.map(put, tree)"
    yield ""


def _converter(names: GlobalNames, name: str, converter: str, axis: str) -> Iterator[str]:
    yield f"        def {name}(tree):"
    yield f"            return {names.multihost}.{converter}(tree, mesh, {names.spec}({axis}))"
    yield ""
