"""The streams of keys that a program's networks draw from: `make_rng("noise")`, a Dropout for "dropout"."""

from __future__ import annotations

import re
from collections.abc import Collection

DROPS = re.compile(r"^[^#\n]*drop(?:out|_?path)\w*\s*\(", re.IGNORECASE | re.MULTILINE)
RATE = re.compile(r"\s*(?:rate\s*=\s*)?self\.(\w+)\s*[,)]")
OWN_FIELD = re.compile(r"self\.(\w+)")
ZERO = re.compile(r"0(?:\.0*)?")
MAKES = re.compile(r"^(?![^#\n]*\bdef make_rng)[^#\n]*\bmake_rng\(", re.MULTILINE)
ANY = re.compile(r"^(?![^#\n]*\bdef make_rng)[^#\n]*\bmake_rng\(\s*[^\s\"')]", re.MULTILINE)
DEFINES = re.compile(r"\s*(?:def|class) ")
STREAM = re.compile(r"\s*[\"'](\w+)[\"']")
CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
GUARD = re.compile(r"\bif\b[^\n]*\bself\.(\w+)\s*(?:>|!=)\s*0")
ABOVE = 500  # characters above, in which the guard of a draw stands
# A setting that is zero where nobody sets it, and one that somebody has to set
BY_DEFAULT = re.compile(r"[\w.]+\.get\(\s*[\"'] ?(\w+)[\"']\s*,\s*0(?:\.0*)?\s*\)")
SET = re.compile(r"(?:self\.)?\w*(?:cfg|conf|config|args|FLAGS|hps|params)\w*(?:\.(\w+)|\[[\"'](\w+)[\"']\])$")
NETWORK = re.compile(r"^[ \t]*class \w+\(.*\bModule\b", re.MULTILINE)


def is_drawn_from(name: str, texts: Collection[str], settings: Collection[str] = ()) -> bool:
    """Whether a network in some texts may draw from the stream that it is given a key for.

    Networks of libraries draw for their dropout, and from no stream that a program names. `settings` are texts of files
    that say how large a program's numbers are.
    """
    stream = name.removeprefix("rngs").strip()
    if not stream:
        networks = any(map(NETWORK.search, texts))
        return not networks or any(map(_draws_otherwise, texts)) or drops(texts, settings)
    named = re.compile(
        rf"^[^#\n]*\b(?:make_rng\(|rng_collection\s*(?::\s*str\s*)?=)\s*[\"']{re.escape(stream)}[\"']", re.MULTILINE
    )
    if stream == "dropout" and not any(map(NETWORK.search, texts)):
        return True
    if stream == "dropout" and drops(texts, settings):
        return True
    return any(pattern.search(text) for text in texts for pattern in (named, ANY))


def _draws_otherwise(text: str) -> bool:
    """Whether a network draws for anything but dropout, or for dropout whatever its rate is."""
    for found in MAKES.finditer(text):
        stream = STREAM.match(text, found.end())
        if _is_in_layer(text, found.start()):
            continue
        if stream is None or "drop" not in stream[1] or not GUARD.search(text, max(0, found.start() - ABOVE)):
            return True
    return False


def _is_in_layer(text: str, place: int) -> bool:
    """Whether something stands in a layer for dropout, of which the calls are looked at."""
    above = [one[1] for one in CLASS.finditer(text, 0, place)]
    return bool(above) and "drop" in above[-1].lower()


def drops(texts: Collection[str], settings: Collection[str] = ()) -> bool:
    """Whether a network in some texts has a Dropout whose rate is not always zero.

    That is one by a field of its class that is zero by default, and that all give each other or a zero, or what is set
    to zero wherever it is set.
    """
    rates: set[str] = set()
    defaults = {one[1] for text in texts for one in BY_DEFAULT.finditer(text)}
    if any(_is_set(name, settings) for name in defaults):
        return True
    texts = [BY_DEFAULT.sub("0.0", text) for text in texts]
    for text in texts:
        rates.update(one[1] for one in GUARD.finditer(text) if "drop" in one[1].lower())
        for found in DROPS.finditer(text):
            rate = RATE.match(text, found.end())
            if DEFINES.match(found[0]) or (rate is None and _is_in_layer(text, found.start())):
                continue
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
            given_by = SET.match(value[1].strip()) if value[1] is not None else None
            if given_by is not None and _is_set(given_by[1] or given_by[2], settings) is False:
                continue
            if handed is None and (value[1] is None or not ZERO.fullmatch(value[1].strip())):
                return True
            if handed is not None and handed[1] not in rates:
                rates.add(handed[1])
                waiting.append(handed[1])
    return False


def _is_set(name: str, settings: Collection[str]) -> bool | None:
    """Whether files that set a number set it to another than zero; None where none sets it."""
    found = [one[1] for text in settings for one in re.finditer(rf"\b{name}[\"']?\s*:\s*([^,}}\]#\n]*)", text)]
    return any(not ZERO.fullmatch(one.strip()) for one in found) if found else None
