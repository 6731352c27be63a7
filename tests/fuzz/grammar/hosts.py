"""What happens around the mapped functions: states are made, batches cut up, steps called, results looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.fuzz.grammar.choices import Choices
from tests.fuzz.grammar.maps import Mapped
from tests.fuzz.grammar.observing import observed
from tests.fuzz.grammar.trees import Leaf, Tree, Type, access, build, leaf_names, leaves, replaced

SIZE = 8
REPLICATE = (
    "jax_utils.replicate({})",
    "jax.tree.map(lambda x: jnp.stack([x] * N), {})",
    "jax.tree_util.tree_map(lambda x: jnp.array([x] * N), {})",
    "helpers.replicate({})",
    "jax.tree.map(lambda x: jnp.broadcast_to(x, (N,) + jnp.shape(x)), {})",
    "jax.tree.map(lambda x: np.stack([x] * N), {})",
    "spread({})",
    "jax_utils.replicate({}, jax.devices())",
    "jax.tree.map(lambda x: jnp.repeat(jnp.asarray(x)[None], N, axis=0), {})",
    "jax.tree.map(lambda x: jnp.tile(x, (N,) + (1,) * jnp.ndim(x)), {})",
)
REPLICATE_WEIGHTS = (40, 8, 6, 8, 4, 4, 6, 3, 2, 2)
SHARD = (
    "common_utils.shard({})",
    "jax.tree.map(lambda x: x.reshape((N, -1) + x.shape[1:]), {})",
    "jax.tree.map(lambda x: x.reshape((N, x.shape[0] // N) + x.shape[1:]), {})",
    "helpers.shard({})",
    "cut({})",
    "jax.tree.map(lambda x: np.stack(np.split(x, N)), {})",
    "jax.tree.map(lambda x: jnp.reshape(x, (jax.local_device_count(), -1, *x.shape[1:])), {})",
    "jax.tree.map(lambda x: x.reshape((-1, N) + x.shape[1:]).swapaxes(0, 1), {})",
    "jax.tree.map(lambda x: np.array(np.array_split(x, N)), {})",
)
SHARD_WEIGHTS = (30, 12, 8, 10, 10, 3, 6, 3, 2)


@dataclass
class Host:
    """The host's code that is being written.

    Attributes:
        hostile: The percentage of looks at a stacked value that see more than device 0.
        kept: Stacked values that can be looked at, with their types and whether they are rows.
        indent: How deep the next line stands.
        state: The expression of the state.
    """

    choices: Choices
    hostile: int
    state: str
    type: Type
    batch: Type
    lines: list[str] = field(default_factory=list)
    kept: list[tuple[str, Type, bool]] = field(default_factory=list)
    depth: int = 0
    made: int = 0
    donated: bool = False
    stacked: bool = True
    batched: bool = False

    def name(self, prefix: str) -> str:
        """A name that nothing has yet."""
        self.made += 1
        return f"{prefix}{self.made}"

    def put(self, *lines: str) -> None:
        """Writes lines where the host's code stands."""
        self.lines.extend("    " * self.depth + line for line in lines)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines below a head."""
        self.put(head)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.put("pass")
        self.depth -= 1

    def see(self, expression: str) -> None:
        """Keeps an observed value: printed, in a list or in a dictionary."""
        how = self.choices.pick(
            (
                "out.append({})",
                "out.append(({},))",
                "print({})",
                "note({})",
                "out.extend([{}])",
                "out.append(dict(v={}))",
            ),
            (10, 2, 2, 3, 1, 1),
        )
        self.put(how.format(expression))

    def look(self, expression: str, type_: Type, rows: bool = False, hostile: int | None = None) -> None:
        """Looks at a stacked value."""
        self.see(observed(self.choices, expression, type_, self.hostile if hostile is None else hostile, rows))


def single_state(type_: Type, seed: str = "0.1") -> str:
    """The expression of a fresh state without a device axis."""
    if isinstance(type_, Tree):
        return build(type_, {name: single_state(inner, seed) for name, inner in type_.fields})
    if type_.kind == "i":
        return "jnp.zeros((), jnp.int32)"
    if type_.kind == "key":
        return "jax.random.PRNGKey(7)"
    return f"jnp.full({type_.shape}, {seed})" if not type_.shape else f"jnp.linspace({seed}, 1.0, 3)"


def replicated(host: Host, expression: str, first: bool = False) -> str:
    """The expression that stacks equal copies; `first`: of what has no second axis yet, where the state has one."""
    if host.batched and first:
        ways = ("jax.tree.map(lambda x: jnp.broadcast_to(x, (N, 2) + jnp.shape(x)), {})", *INNER_COPIES)
        return host.choices.pick(ways).format(expression)
    return host.choices.pick(REPLICATE, REPLICATE_WEIGHTS).format(expression)


INNER_COPIES = (
    "jax_utils.replicate(jax.tree.map(lambda x: jnp.stack([x] * 2), {}))",
    "jax_utils.replicate(jax.tree.map(lambda x: jnp.broadcast_to(x, (2,) + jnp.shape(x)), {}))",
)


def cut(host: Host, expression: str) -> str:
    """The expression that cuts a batch up."""
    return host.choices.pick(SHARD, SHARD_WEIGHTS).format(expression)


def start(host: Host, target: str, seed: str = "0.1") -> None:
    """Makes a stacked state."""
    choices, type_ = host.choices, host.type
    own = [n for n in leaf_names(type_) if isinstance(type_, Tree) and type_.of(n) == Leaf((2,), "key")]
    if isinstance(type_, Tree) and choices.chance(25):
        values = {n: replicated(host, single_state(t, seed), first=True) for n, t in type_.fields}
        if len(values) > 1 and choices.chance(50):  # all at once, as parts of a tuple
            parts = {n: host.name("part") for n in values}
            fresh = ", ".join(single_state(t, seed) for _, t in type_.fields)
            host.put(f"{', '.join(parts.values())} = {replicated(host, f'({fresh})', first=True)}")
            values = parts
        values |= {n: own_keys(host, choices.pick(("", "common_utils.shard_prng_key(KEY)"))) for n in own}
        if "stats" in values and not host.batched and choices.chance(40):
            values["stats"] = "jnp.stack([jnp.full((3,), i * 0.1) for i in range(N)])"
        host.put(f"{target} = {build(type_, values)}")
        return
    if choices.chance(6) and not host.batched:
        fresh = single_state(type_, seed)
        how = choices.pick(
            (
                f"jax.pmap(lambda _: {fresh})(jnp.arange(N))",
                f"jax.vmap(lambda k: jax.tree.map(lambda x: x + 0 * k, {fresh}))(jnp.arange(N))",
                f'jax.pmap(lambda k: {fresh}, axis_name="batch")(jax.random.split(KEY, N))',
            )
        )
        host.put(f"{target} = {how}")
        return
    if choices.chance(20):
        fresh = host.name("fresh")
        host.put(f"{fresh} = {single_state(type_, seed)}")
        if choices.chance(40):
            host.see(choices.pick([code for code, leaf in leaves(type_, fresh) if leaf.kind == "f"]))
        host.put(f"{target} = {replicated(host, fresh, first=True)}")
    else:
        host.put(f"{target} = {replicated(host, single_state(type_, seed), first=True)}")
    if own and isinstance(type_, Tree) and choices.chance(60):
        values = dict.fromkeys(own, own_keys(host, ""))
        host.put(f"{target} = {replaced(choices, target, type_, values)}")


def own_keys(host: Host, way: str) -> str:
    """The expression of a key for each device, and each place of the second axis."""
    if host.batched:
        return "jax.random.split(KEY, N * 2).reshape((N, 2, -1))"
    return way or "jax.random.split(KEY, N)"


def example(host: Host, index: str) -> str:
    """The expression of a batch of all devices' rows."""
    if isinstance(host.batch, Leaf):
        return f"X[{index}]"
    return build(host.batch, {"x": f"X[{index}]", "y": f"Y[{index}]"})


def batch_for(host: Host, index: str, axis: int | str | None) -> str:
    """A name for a batch in the form that a map takes."""
    choices, name = host.choices, host.name("batch")
    if isinstance(host.batch, Leaf) and axis == 0 and choices.chance(20):
        return _filled(host, name, index)
    if isinstance(host.batch, Tree) and host.batch.form in ("dict", "tuple") and choices.chance(15):
        values = {n: cut(host, f"{n.upper()}[{index}]") for n, _ in host.batch.fields}
        host.put(f"{name} = {build(host.batch, values)}")
    elif choices.chance(25):
        host.put(f"{name} = {example(host, index)}")
        if choices.chance(20):
            host.see(choices.pick([code for code, _ in leaves(host.batch, name)]))
        host.put(f"{name} = {cut(host, name)}")
    else:
        host.put(f"{name} = {cut(host, example(host, index))}")
    if axis == 1:
        host.put(f"{name} = jax.tree.map(lambda x: np.moveaxis(np.asarray(x), 0, 1), {name})")
    elif choices.chance(6):
        host.look(name, host.batch, hostile=70)
    return name


def _filled(host: Host, name: str, index: str) -> str:
    """A batch that is a view of a buffer, which the program fills for each step and maybe before the step."""
    choices = host.choices
    host.put("jax.block_until_ready(jax.live_arrays())")  # the step before may still read the buffer, and would race
    host.put(f"BUFFER[:] = X[{index}]")
    made = cut(host, "BUFFER")
    if choices.chance(40):
        return made
    host.put(f"{name} = {made}")
    if choices.chance(25):
        host.put(choices.pick(("BUFFER[:] = 0", "BUFFER[::2] += 1", "fill(BUFFER)")))
    return name


ONE_OF_INNER = ("jax.tree.map(lambda x: x[:, 0], {})", "jax.tree.map(lambda x: x[:, 1], {})")


def taken(host: Host, mapped: Mapped, state: str) -> str:
    """The expression of what a map takes of the state: one place of its second axis, where the map knows of none."""
    alone = host.batched and not mapped.step.batched
    return host.choices.pick(ONE_OF_INNER).format(state) if alone else state


def arguments(host: Host, mapped: Mapped, state: str, index: str, keys: str, batch: str) -> list[str]:
    """The expressions of a call's arguments."""
    choices, found = host.choices, []
    for parameter, axis in zip(mapped.step.parameters, mapped.takes, strict=True):
        if parameter.role == "state":
            given = taken(host, mapped, state)
            found.append(given if axis == 0 or not host.stacked else f"jax_utils.unreplicate({given})")
        elif parameter.role == "batch":
            found.append(batch or batch_for(host, index, axis))
        elif parameter.role == "key":
            ways = (f"jax.random.split(jax.random.fold_in(KEY, {index}), N)", "common_utils.shard_prng_key(KEY)")
            same = ("jax_utils.replicate(KEY)", "jnp.stack([KEY] * N)")
            fresh = choices.pick((*ways, *same), (8, 4, 2, 1))
            found.append("KEY" if axis is None else keys or fresh)
        elif parameter.role == "rate":
            rates = ("0.1", "jnp.float32(0.2)", f"0.1 / ({index} + 1)", "np.float32(0.3)")
            mapped_rates = (
                "jax_utils.replicate(jnp.float32(0.1))",
                "jnp.arange(N) * 0.1",
                "jnp.full((N,), 0.1)",
                "np.ones(N, np.float32)",
            )
            found.append(choices.pick(rates if axis is None else mapped_rates))
        else:
            found.append(choices.pick(("True", "False", f"{index} % 2 == 0")))
    return found


def call(host: Host, mapped: Mapped, state: str, index: str = "0", keys: str = "", batch: str = "") -> dict[str, str]:
    """Calls a mapped function; returns the names of its results by role. The state is bound anew."""
    choices = host.choices
    given = arguments(host, mapped, state, index, keys, batch)
    if choices.chance(12):
        given = by_keyword(choices, mapped, given)
    code = call_form(host, mapped, given)
    names: dict[str, str] = {}
    for (role, _), _axis in zip(mapped.step.results, mapped.gives, strict=True):
        names[role] = state if role == "state" else keys if role == "key" and keys else host.name(role)
    if len(names) == 1:
        host.put(f"{next(iter(names.values()))} = {code}")
    elif mapped.step.together:
        result = host.name("result")
        access_ = '{}["{}"]' if mapped.step.together == "dict" else "{}.{}"
        host.put(f"{result} = {code}")
        host.put(*(f"{name} = {access_.format(result, role)}" for role, name in names.items()))
    elif choices.chance(15):
        result = host.name("result")
        host.put(f"{result} = {code}")
        host.put(*(f"{name} = {result}[{i}]" for i, name in enumerate(names.values())))
    else:
        host.put(f"{', '.join(names.values())} = {code}")
    settle(host, mapped, names)
    return names


def padded(host: Host, mapped: Mapped, state: str, index: str) -> None:
    """Calls a mapped function by flax's `pad_shard_unpad`, with a batch that need not be divisible."""
    choices, name = host.choices, host.name("padded")
    whole = choices.chance(60)
    rows = choices.pick(("", "[:-3]", "[:9]"))
    batch = f"jax.tree.map(lambda x: x{rows}, {example(host, index)})" if rows else example(host, index)
    options = choices.pick(("", ", static_argnums=(0,)")) + (", static_return=True" if whole else "")
    made = f"jax_utils.pad_shard_unpad({mapped.name}{options})"
    if choices.chance(30):
        host.put(f"{name}_fun = {made}")
        made = f"{name}_fun"
    least = choices.pick(("", ", min_device_batch=2"))
    host.put(f"{name} = {made}({taken(host, mapped, state)}, {batch}{least})")
    if not whole:
        host.see(f"jax.tree.map(np.sum, {name})")
        return
    results = mapped.step.results
    codes = [name] if len(results) == 1 else [f"{name}[{i}]" for i in range(len(results))]
    for code, (role, type_) in zip(codes, results, strict=True):
        if role != "rows":
            host.look(code, type_)


def may_pad(mapped: Mapped) -> bool:
    """Whether `pad_shard_unpad` can wrap a map: it takes a state and a batch, and gives no state of padded rows."""
    roles = [parameter.role for parameter in mapped.step.parameters]
    mapped_all = all(axis == 0 for axis in (*mapped.takes, *mapped.gives))
    plain = not (mapped.donated or mapped.step.together or mapped.step.batched)
    return roles == ["state", "batch"] and mapped_all and plain


def by_keyword(choices: Choices, mapped: Mapped, given: list[str]) -> list[str]:
    """The last arguments of a call by their names, in any order; pmap maps the first axis of such, and keeps them."""
    first = len(given)
    while first > 1 and mapped.takes[first - 1] == 0:
        first -= 1
    if first == len(given):
        return given
    first = choices.pick(tuple(range(first, len(given))))
    names = [parameter.name for parameter in mapped.step.parameters]
    named = [f"{name}={value}" for name, value in zip(names[first:], given[first:], strict=True)]
    return given[:first] + choices.pick((named, named[::-1]))


def call_form(host: Host, mapped: Mapped, given: list[str]) -> str:
    """The expression of a call: as it stands, or by one of Python's other ways."""
    inner, name = ", ".join(given), mapped.name
    ways = [f"{name}({inner})", f"jax.block_until_ready({name}({inner}))", f"{name}(*({inner},))"]
    ways += [
        f"functools.partial({name}, {given[0]})({', '.join(given[1:])})",
        f"(lambda s: {name}(s, {', '.join(given[1:])}))({given[0]})",
    ]
    ways += [f"apply({name}, {inner})"]
    if "=" in inner:
        ways = ways[:2]
    return host.choices.pick(ways, (80, 4, 4, 4, 4, 4)[: len(ways)])


def settle(host: Host, mapped: Mapped, names: dict[str, str]) -> None:
    """Brings results along other axes into the stacked form that all else here expects."""
    for (role, type_), axis in zip(mapped.step.results, mapped.gives, strict=True):
        name = names[role]
        if axis is None:
            if role in ("state", "key"):
                host.put(f"{name} = {replicated(host, name)}")
            else:
                code = host.choices.pick([c for c, _ in leaves(type_, name)])
                host.see(code)
                names[role] = ""
        elif axis == 1:
            host.put(f"{name} = jnp.moveaxis({name}, 1, 0)")


# What may happen to a state between two steps: each takes the host and the state's expression.


def move_checkpoint(host: Host, state: str) -> None:
    """Saved from device 0 and restored to all."""
    first = host.choices.pick(("jax_utils.unreplicate({})", "first({})", "jax.device_get(jax_utils.unreplicate({}))"))
    saved = host.name("saved")
    host.put(f"{saved} = {first.format(state)}")
    how = host.choices.pick(
        (
            f"flax.serialization.from_bytes({saved}, flax.serialization.to_bytes({saved}))",
            f"pickle.loads(pickle.dumps(jax.device_get({saved})))",
            f"copy.deepcopy({saved})",
            saved,
            f"jax.tree.map(jnp.asarray, {saved})",
        )
    )
    if "flax" in how and _has_registered(host.type):
        how = saved
    host.put(f"{state} = {replicated(host, how)}")


def _has_registered(type_: Type) -> bool:
    return isinstance(type_, Tree) and (
        type_.form == "registered" or any(_has_registered(inner) for _, inner in type_.fields)
    )


def move_whole_copy(host: Host, state: str) -> None:
    """Sent through something that keeps all slices."""
    how = host.choices.pick(
        (
            "jax.tree.map(jnp.array, {})",
            "pickle.loads(pickle.dumps(jax.device_get({})))",
            "copy.copy({})",
            "jax.device_get({})",
            "jax.tree.map(lambda x: x, {})",
            "jax.block_until_ready({})",
            "jax.tree.map(np.asarray, {})",
            "jax.tree.unflatten(jax.tree.structure({0}), jax.tree.leaves({0}))",
            "jax.tree.map(lambda x: x[::-1], {})",
            "jax.tree.map(lambda x: jnp.roll(x, 1, axis=0), {})",
            "[{}][0]",
            "({0},)[-1]",
            '{{"s": {0}}}["s"]',
            "identity({})",
            "(lambda s: s)({})",
        )
    )
    host.put(f"{state} = {how.format(state)}")


def move_arithmetic(host: Host, state: str) -> None:
    """Changed on the host, in stacked form."""
    if not isinstance(host.type, Tree) and host.choices.chance(50):
        how = host.choices.pick(
            (
                "{0} * 0.5",
                "{0} + jnp.arange(N).reshape((N,) + (1,) * ({0}.ndim - 1))",
                "jnp.asarray({0}).at[1].set(0.0)",
            )
        )
        host.put(f"{state} = {how.format(state)}")
        return
    found = [(code, leaf) for code, leaf in leaves(host.type, state) if leaf.kind == "f"]
    code, _leaf = host.choices.pick(found)
    names = [n for n in leaf_names(host.type) if isinstance(host.type, Tree) and access(state, host.type, n) == code]
    how = host.choices.pick(
        (
            "{0} * 0.5",
            "jnp.asarray({0}).at[1].set(0.0)",
            "{0} + 1.0",
            "jnp.stack([{0}[0]] * N)",
            "jnp.broadcast_to(jnp.mean({0}, 0), {0}.shape)",
            "jax_utils.replicate({0}[0])",
            "jax_utils.replicate({0}[1])",
            "jnp.concatenate([{0}[4:], {0}[:4]])",
        )
    )
    if names and isinstance(host.type, Tree):
        host.put(f"{state} = {replaced(host.choices, state, host.type, {names[0]: how.format(code)})}")
    else:
        host.put(f"{state} = jax.tree.map(lambda x: x * 1, {state})")


def move_alias(host: Host, state: str) -> None:
    """Another name for the state, which is looked at later."""
    if host.donated:
        return
    name = host.name("old")
    host.put(f"{name} = {state}")
    if host.choices.chance(40):
        host.look(name, host.type)
    else:
        host.kept.append((name, host.type, False))


def move_fresh(host: Host, state: str) -> None:
    """Begun anew, at times."""
    start(host, state, "0.3")


def move_function(host: Host, state: str) -> None:
    """Looked at in a function that sees it by closure or by argument."""
    name = host.name("report")
    if host.choices.chance(50) and "." not in state and "[" not in state:
        with host.block(f"def {name}():"):
            host.put(f"return {observed(host.choices, state, host.type, host.hostile)}")
        host.see(f"{name}()")
    else:
        with host.block(f"def {name}(s):"):
            host.put(f"return {observed(host.choices, 's', host.type, host.hostile)}")
        host.see(f"{name}({state})")


def move_through_function(host: Host, state: str) -> None:
    """Handed to a function that gives it back, changed or not, at times with something beside it."""
    name = host.name("touch")
    returned = host.choices.pick(("s", "s, times", "(s, times) if times else (None, times)"))
    with host.block(f"def {name}(s, times=1):"):
        host.put(f"return {returned}")
    host.put(f"{state} = {name}({state})" if returned == "s" else f"{state}, _ = {name}({state})")


def move_carried(host: Host, state: str) -> None:
    """Sent through a construct of Python that hands it on unchanged, to be the state again or to be looked at."""
    lines, result = host.choices.pick(CARRIERS)
    name = host.name("c")
    host.put(*(line.format(n=name, s=state) for line in lines))
    back = host.choices.chance(50)
    if back or host.donated:
        host.put(f"{state} = {result.format(n=name, s=state)}")
    else:
        host.put(f"{name}v = {result.format(n=name, s=state)}")
        host.look(f"{name}v", host.type, hostile=max(host.hostile, 30 if host.hostile else 0))


CARRIERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("{n} = {{'s': {s}, 'n': 1}}",), "{n}['s']"),
    (("{n} = [None, {s}]",), "{n}[1]"),
    (("{n} = []", "{n}.append({s})"), "{n}.pop()"),
    (("{n} = SimpleNamespace(s=None)", "setattr({n}, 's', {s})"), "getattr({n}, 's')"),
    (("for {n} in [{s}]:", "    pass"), "{n}"),
    (("{n} = {s} if X.size else None",), "{n}"),
    (("def {n}(q={s}):", "    yield q"), "next({n}())"),
    (("{n} = dict(s={s})", "{n}.update(k=2)"), "{n}.pop('s')"),
    (("*_, {n} = [0, {s}]",), "{n}"),
    (("{n} = functools.partial(identity, {s})",), "{n}()"),
    (("with contextlib.nullcontext({s}) as {n}:", "    pass"), "{n}"),
    (("try:", "    {n} = {s}", "except ValueError:", "    {n} = None"), "{n}"),
    (("if ({n} := {s}) is not None:", "    pass"), "{n}"),
    (("class {n}C:", "    def __init__(self, value):", "        self.value = value", "{n} = {n}C({s})"), "{n}.value"),
    (("{n} = [q for q in ({s}, {s})]",), "{n}[0]"),
    (("{n} = list(zip([1], [{s}]))",), "{n}[0][1]"),
    (("{n} = list(map(identity, [{s}]))",), "{n}[0]"),
    (("{n} = {{**{{'s': {s}}}}}", "{n}k = list({n}.values())"), "{n}k[0]"),
    (("{n} = [{s}, {s}]", "{n}[0] = {n}[1]"), "{n}[-1]"),
    (("{n}, {n}q = ({s}, 1)",), "{n}"),
    (("def {n}(*args, **kwargs):", "    return args[0] if args else kwargs['s']"), "{n}(s={s})"),
    (("{n} = {{}}", "{n}.setdefault('s', {s})"), "{n}.get('s')"),
    (("{n} = ({s},) + (1,)",), "{n}[:1][0]"),
    (("match {s}:", "    case {n}:", "        pass"), "{n}"),
    (("{n} = (lambda q: (q, q))({s})",), "{n}[1]"),
    (("{n} = next(iter([{s}]))",), "{n}"),
    (("{n} = [({s}, 0)]", "for {n}q, {n}k in {n}:", "    {n} = {n}q"), "{n}"),
    (("{n} = vars(SimpleNamespace(s={s}))",), "{n}['s']"),
)


def move_in_place(host: Host, state: str) -> None:
    """A dictionary is changed where it stands, behind the back of other names for it, or of none."""
    if not isinstance(host.type, Tree) or host.type.form not in ("dict", "list"):
        move_unpacked(host, state)
        return
    fields = [name for name in leaf_names(host.type) if host.type.of(name) == Leaf((3,))]
    field = access(state, host.type, host.choices.pick(fields or ["w"])) if fields else ""
    if host.choices.chance(50) and not host.donated:
        other = host.name("same")
        host.put(f"{other} = {state}")
        host.kept.append((other, host.type, False))
    if not field:
        return
    how = host.choices.pick(
        (
            "{f} = jax_utils.replicate(jnp.ones(3))",
            "{f} = {f} * 0.5",
            "{f} = jnp.stack([jnp.ones(3) * i for i in range(N)])",
            "{f} = jnp.asarray({f}).at[2].set(1.0)",
            "{f} = jax_utils.replicate(jax_utils.unreplicate({f}) * 2.0)",
            "{f} = jnp.stack([{f}[0]] * N)",
            "{f} += 1.0",
        )
    )
    host.put(how.format(f=field))


def move_unpacked(host: Host, state: str) -> None:
    """Taken apart into its fields, and put together again."""
    if not isinstance(host.type, Tree):
        name = host.name("row")
        host.put(f"{name} = {state}")
        how = host.choices.pick(("jnp.asarray({n})", "{n} + 0.0", "jnp.stack([{n}[0]] * N)", "np.array({n})"))
        host.put(f"{state} = {how.format(n=name)}")
        return
    names = {name: host.name("part") for name, _ in host.type.fields}
    if host.type.form in ("tuple", "named", "list") and host.choices.chance(50):
        host.put(f"{', '.join(names.values())}{',' if len(names) == 1 else ''} = {state}")
    else:
        host.put(*(f"{part} = {access(state, host.type, name)}" for name, part in names.items()))
    part, type_ = names["w" if "w" in names else "params"], host.type.fields[0][1]
    if host.choices.chance(40):
        host.look(part, type_)
    if isinstance(type_, Leaf) and host.choices.chance(40):
        how = host.choices.pick(
            ("{p} = jnp.stack([{p}[0]] * N)", "{p} = {p} * 0.5", "{p} = jax_utils.replicate(first({p}))")
        )
        host.put(how.format(p=part))
    host.put(f"{state} = {build(host.type, names)}")


def move_best(host: Host, state: str) -> None:
    """Kept where it is the best so far."""
    if host.donated:
        return
    name = host.name("best")
    test = host.choices.pick(("X.size > 0", "float(X.sum()) > 1e9", "len(out) % 2 == 0"))
    if host.choices.chance(50):
        host.put(f"{name} = {state}")
        start_again = host.name("start")
        host.put(f"if {test}:")
        host.depth += 1
        start(host, start_again, "0.4")
        host.put(f"{name} = {start_again}")
        host.depth -= 1
    else:
        start(host, name, "0.4")
        host.put(f"{name} = {state} if {test} else {name}")
    host.look(name, host.type)


def move_average(host: Host, state: str) -> None:
    """A running average beside the state, taken on the host in stacked form."""
    if host.donated or any(leaf.kind != "f" for _, leaf in leaves(host.type, state)):
        return
    name = host.name("ema")
    start(host, name)
    how = host.choices.pick(("0.9 * a + 0.1 * b", "a + b", "a - b", "jnp.maximum(a, b)"))
    host.put(f"{name} = jax.tree.map(lambda a, b: {how}, {name}, {state})")
    host.look(name, host.type)


MOVES: tuple[Callable[[Host, str], None], ...] = (
    move_checkpoint,
    move_function,
    move_alias,
    move_through_function,
    move_carried,
    move_in_place,
    move_unpacked,
    move_best,
    move_fresh,
    move_average,
    move_whole_copy,
    move_arithmetic,
)
MOVE_WEIGHTS = (6, 4, 3, 3, 5, 4, 4, 3, 2, 2, 3, 2)


def moves(host: Host, state: str, percent: int) -> None:
    """Lets something happen to a state."""
    for _ in host.choices.times(percent, 2):
        host.choices.pick(MOVES, MOVE_WEIGHTS)(host, state)
