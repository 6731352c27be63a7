"""The names of a function that runs, and what they hold."""

from __future__ import annotations

import ast

from jaxmigrate.flow.host.held import NOTHING, UNKNOWN, Held, Key, join
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.values import Application
from jaxmigrate.records import made, record


@record(eq=False, frozen=False)
class Frame:
    """A function, or a module, that runs; `outer` is the frame of the function around it.

    `left` is whether the block that runs has been left: by `return`, `raise`, `break` or `continue`; `call` is the call
    that runs it, if one in sight does.
    """

    module: Module
    node: FunctionNode | ast.Module
    names: dict[str, Held] = made(factory=dict)
    outer: Frame | None = None
    depth: int = 0
    returned: Held | None = None
    left: bool = False
    stored: set[str] = made(factory=set)
    call: Application | None = None

    def read(self, name: str) -> Held:
        """What a name holds."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.outer
        return UNKNOWN

    def store(self, name: str, held: Held) -> None:
        """Binds a name."""
        self.names[name] = held
        self.stored.add(name)

    def store_path(self, path: tuple[Key, ...], held: Held) -> None:
        """Sets a field or an entry of what a name holds: `self.state = x` by the path `self`, `state`."""
        name, *fields = path
        if isinstance(name, str):
            self.names[name] = _with(self.read(name), fields, held)

    def give_back(self, held: Held) -> None:
        """What the function returns on one more way."""
        self.returned = held if self.returned is None else join(self.returned, held)
        self.left = True


def _with(owner: Held, fields: list[Key], held: Held) -> Held:
    if not fields:
        return held
    base = Held() if owner.nothing else owner
    return base.with_part(fields[0], _with(base.part(fields[0]), fields[1:], held))


def joined_names(one: dict[str, Held], other: dict[str, Held]) -> dict[str, Held]:
    """What names hold behind two ways; one that is bound on one way alone holds that."""
    found = dict(one)
    for name, held in other.items():
        found[name] = join(found.get(name, NOTHING), held)
    return found
