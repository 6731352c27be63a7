"""Whether code names types that are narrower than those which Python's numbers get when nothing tells theirs.

`x * 2.5` of a bfloat16 array is one as well, and a float32 one if the number was made an array before. Of float32
arrays it is the same either way, and integers tell only narrow integers apart.
"""

from __future__ import annotations

import re

from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver

FLOATS = re.compile(r"\b(?:bfloat16|float16|half|float8_\w+)\b")
INTEGERS = re.compile(r"\bu?int(?:2|4|8|16)\b")


@once
def says_narrow(resolver: Resolver) -> bool:
    """Whether some module of a program names a floating type of that kind."""
    return any(FLOATS.search(module.text) for module in resolver.project.program)
