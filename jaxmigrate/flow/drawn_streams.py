"""The streams of keys that a program's networks draw from: `make_rng("noise")`, a Dropout for "dropout"."""

from __future__ import annotations

import re
from collections.abc import Collection

from jaxmigrate.flow.variance import Draw

DROPS = re.compile(r"^[^#\n]*drop(?:out|_?path)\w*\s*\(", re.IGNORECASE | re.MULTILINE)
RATE = re.compile(r"\s*(?:rate\s*=\s*)?self\.(\w+)\s*[,)]")
OWN_FIELD = re.compile(r"self\.(\w+)")
ZERO = re.compile(r"0(?:\.0*)?")
MAKES = re.compile(r"^(?![^#\n]*\bdef make_rng)[^#\n]*\bmake_rng\(", re.MULTILINE)
ANY = re.compile(r"^(?![^#\n]*\bdef make_rng)[^#\n]*\bmake_rng\(\s*[^\s\"')]", re.MULTILINE)
NETWORK = re.compile(r"^[ \t]*class \w+\(.*\bModule\b", re.MULTILINE)


def is_drawn_from(draw: Draw, texts: Collection[str]) -> bool:
    """Whether a network in some texts may draw from the stream that it is given a key for.

    Networks of libraries draw for their dropout, and from no stream that a program names.
    """
    stream = draw.name.removeprefix("rngs").strip()
    if not stream:
        networks = any(map(NETWORK.search, texts))
        return not networks or drops(texts) or any(pattern.search(text) for text in texts for pattern in (MAKES, ANY))
    named = re.compile(
        rf"^[^#\n]*\b(?:make_rng\(|rng_collection\s*(?::\s*str\s*)?=)\s*[\"']{re.escape(stream)}[\"']", re.MULTILINE
    )
    if stream == "dropout" and not any(map(NETWORK.search, texts)):
        return True
    if stream == "dropout" and drops(texts):
        return True
    return any(pattern.search(text) for text in texts for pattern in (named, ANY))


def drops(texts: Collection[str]) -> bool:
    """Whether a network in some texts has a Dropout whose rate is not always zero.

    That is one by a field of its class that is zero by default, and that all give each other or a zero.
    """
    rates: set[str] = set()
    for text in texts:
        for found in DROPS.finditer(text):
            rate = RATE.match(text, found.end())
            if rate is None:
                return True
            rates.add(rate[1])
    waiting = list(rates)
    for name in waiting:  # which grows as it goes
        given = re.compile(rf"\b{name}\b(?:\s*:[^=\n]*)?\s*=(?!=)\s*([^,)#\n]*)|[\"']({name})[\"']")
        values = [one for text in texts for one in given.finditer(text)]
        if not values:
            return True
        for value in values:
            handed = OWN_FIELD.fullmatch(value[1].strip()) if value[1] is not None else None
            if handed is None and (value[1] is None or not ZERO.fullmatch(value[1].strip())):
                return True
            if handed is not None and handed[1] not in rates:
                rates.add(handed[1])
                waiting.append(handed[1])
    return False
