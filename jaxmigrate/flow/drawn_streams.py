"""The streams of keys that a program's networks draw from: `make_rng("noise")`, a Dropout for "dropout"."""

from __future__ import annotations

import re
from collections.abc import Collection

from jaxmigrate.flow.variance import Draw

DROPS = re.compile(r"^[^#\n]*drop(?:out|_?path)\w*\s*\(", re.IGNORECASE | re.MULTILINE)
ANY = re.compile(r"^(?![^#\n]*\bdef make_rng)[^#\n]*\bmake_rng\(\s*[^\s\"')]", re.MULTILINE)
NETWORK = re.compile(r"^[ \t]*class \w+\(.*\bModule\b", re.MULTILINE)


def is_drawn_from(draw: Draw, texts: Collection[str]) -> bool:
    """Whether a network in some texts may draw from the stream that it is given a key for.

    Networks of libraries draw for their dropout, and from no stream that a program names.
    """
    stream = draw.name.removeprefix("rngs").strip()
    if not stream:
        return True
    named = re.compile(
        rf"^[^#\n]*\b(?:make_rng\(|rng_collection\s*(?::\s*str\s*)?=)\s*[\"']{re.escape(stream)}[\"']", re.MULTILINE
    )
    if stream == "dropout" and not any(map(NETWORK.search, texts)):
        return True
    patterns = (named, ANY, DROPS) if stream == "dropout" else (named, ANY)
    return any(pattern.search(text) for text in texts for pattern in patterns)
