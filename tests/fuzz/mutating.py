"""Source files as nobody would write them: the bytes that a text fuzzer feeds to fix and lint."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures"
Mutation = Callable[[random.Random, str], str]
LINE = re.compile(r"[^\n]*\n|[^\n]+$")


def seeds() -> list[str]:
    """The texts that mutations begin with."""
    files = sorted(FIXTURES.glob("*/before/**/*.py"))
    return [*(text for file in files if "pmap" in (text := file.read_text(encoding="utf-8"))), *SMALL]


def lines_of(text: str) -> list[str]:
    """The lines of a text with their endings, which are all line feeds here."""
    return LINE.findall(text)


# Mutations that Python's grammar does not mind: the program stays the same.


def commented(random_: random.Random, text: str) -> str:
    """Comments at the ends of lines and on lines of their own, with all sorts of characters."""
    lines = lines_of(text)
    for _ in range(random_.randint(1, 6)):
        place = random_.randrange(len(lines))
        if not _is_plain(text, lines, place):
            continue
        comment = random_.choice(
            ("# é ünïcode 漢字", "# jax.pmap(f)", "#", "#!", "# type: ignore", "# fmt: off", "# '''")
        )
        if random_.random() < 0.5 and lines[place].strip():
            lines[place] = lines[place].rstrip("\n") + "  " + comment + "\n"
        else:
            lines.insert(place, comment + "\n")
    return "".join(lines)


def form_feeds(random_: random.Random, text: str) -> str:
    """Form feeds and odd blanks before and between lines."""
    lines = lines_of(text)
    for _ in range(3):
        place = random_.randrange(len(lines))
        if _is_plain(text, lines, place) and not lines[place].startswith((" ", "\t")):
            lines.insert(place, random_.choice(("\f\n", "\f", "   \n", "\t\n", "\n\n\n")))
    return "".join(lines)


def tabs(random_: random.Random, text: str) -> str:
    """Tabs for indentation."""
    return re.sub(r"^(?:    )+", lambda m: "\t" * (len(m[0]) // 4), text, flags=re.MULTILINE)


def nested(random_: random.Random, text: str) -> str:
    """The whole program below statements, some of them many levels deep."""
    if "\n'''" in text or '"""' in text[3:] or "\\\n" in text or "from __future__" in text:
        return text
    for _ in range(random_.choice((1, 2, 15))):
        head, tail = random_.choice(
            (
                ("if True:\n", ""),
                ("try:\n", "finally:\n    pass\n"),
                ("while True:\n", "    break\n"),
                ("with open(__file__) as handle:\n", ""),
                ("match 1:\n    case 1 | 2:\n", ""),
                ("for _ in range(1):\n", "else:\n    pass\n"),
                ("class Outer:\n", ""),
            )
        )
        if "import *" in text and head.startswith("class"):
            continue
        depth = "        " if head.startswith("match") else "    "
        text = head + "".join(depth + line if line.strip() else line for line in lines_of(text)) + tail
        if not text.endswith("\n"):
            text += "\n"
    return text


def one_line(random_: random.Random, text: str) -> str:
    """Simple statements joined by semicolons, some behind wide characters."""
    lines = lines_of(text)
    for place in range(len(lines) - 1, 0, -1):
        plain = re.match(r"^[\w.]+ = [^#'\"\\\[{]*\)\n$", lines[place])
        if plain and random_.random() < 0.6 and lines[place].count("(") == lines[place].count(")"):
            lines[place] = random_.choice(("é = '漢字𝔘'; ", "x = 1;", "ß=2 ;\t")) + lines[place]
    return "".join(lines)


def spread(random_: random.Random, text: str) -> str:
    """Calls over several lines, with comments, backslashes and blanks where they may stand."""

    def wide(match: re.Match[str]) -> str:
        return random_.choice(
            (
                "jax.pmap(\n        # inner\n        ",
                "jax . pmap (",
                "(jax.pmap)(",
                "jax.pmap(  # é\n        ",
                "jax.\\\n    pmap(",
                "(jax\n    .pmap)(",
            )
        )

    return re.sub(r"(?<!@)(?<!\.)\bjax\.pmap\((?!\))", wide, text)


def names(random_: random.Random, text: str) -> str:
    """Other names for what is imported and defined."""
    for old, new in (("jnp", "ĵnp"), ("batch", "báтch"), ("np", "数"), ("step", "_sтep"), ("P", "Mesh")):
        if random_.random() < 0.3:
            text = re.sub(rf"(?<![\w'\"]){old}\b(?!['\"])", new, text)
    return text


def strings(random_: random.Random, text: str) -> str:
    """Strings of all kinds, that hold what looks like code."""
    more = random_.choice(
        (
            "DOC = '''jax.pmap(f)\n# not a comment\n'''\n",
            'F = f"{1 + 1!r:>{10}} {{jax.pmap}}"\n',
            "R = rb'\\d' b'x'\n",
            'T = """tab\there\\\n  jax.pmap"""\n',
            "U = u'\\N{LATIN SMALL LETTER E WITH ACUTE}' '\\\n'\n",
            'def doc():\n    \'jax.pmap(f)\'\n    """\n\tjax"""\n',
        )
    )
    return text + more if random_.random() < 0.5 else more + text if "__future__" not in text else text


def modern(random_: random.Random, text: str) -> str:
    """Walrus, match, star expressions, and what Pythons after this one can parse."""
    more = random_.choice(
        (
            "if (n_ := 3) and (m_ := jax.pmap(lambda x: x)):\n    pass\n",
            "match [1, 2]:\n    case [a_, *b_] if a_: q_ = jax.pmap(len, 'i')\n    case {'k': v_, **kw_}: pass\n",
            "def generic_[T](x: T) -> T:\n    return jax.pmap(lambda y: y)(x)\n",
            "type Alias_ = int\n",
            "print(f'{'nested ' + f'{jax.pmap}'}')\n",
            "async def coroutine_():\n    async with x as y: await jax.pmap(lambda x: x)(1)\n",
            "lambda_ = lambda *a, k=jax.pmap, **kw: k(a[0])\n",
            "try:\n    pass\nexcept* ValueError:\n    jax.pmap(print)\n",
            "@(decorators_ := [jax.pmap])[0]\ndef decorated_(x): return x\n",
            "@jax.pmap  # first\n# between\n@jax.jit\ndef both_(x):\n    return x\n",
            "del_ = [jax.pmap(f_) for f_ in (len, sum) if f_]\n",
        )
    )
    return text + ("" if text.endswith("\n") else "\n") + more


def deep(random_: random.Random, text: str) -> str:
    """An expression nested as deeply as Python's parser takes, or deeper."""
    depth = random_.choice((30, 90, 150, 400, 3000))
    shape = random_.choice(("(", "[", "-", "jax.pmap(", "not ", "x.y(", "lambda: "))
    closing = {"(": ")", "[": "]", "jax.pmap(": ")", "x.y(": ")"}.get(shape, "")
    return text + ("" if text.endswith("\n") else "\n") + f"deep_ = {shape * depth}1{closing * depth}\n"


def chain(random_: random.Random, text: str) -> str:
    """A sum or a chain of calls of a thousand parts."""
    part = random_.choice((" + 1", ".a", "[0]", " and x", "()", " if x else y"))
    return text + ("" if text.endswith("\n") else "\n") + f"long_ = x{part * random_.choice((50, 900, 3000))}\n"


def many_lines(random_: random.Random, text: str) -> str:
    """A file of twenty thousand lines."""
    if random_.random() < 0.97:
        return text
    return text + ("" if text.endswith("\n") else "\n") + "".join(f"row_{i} = [{i}, {i + 1}]\n" for i in range(20_000))


# Mutations that mostly break a program.


def dropped(random_: random.Random, text: str) -> str:
    """Without some lines or characters."""
    lines = lines_of(text)
    if random_.random() < 0.5:
        del lines[random_.randrange(len(lines))]
        return "".join(lines)
    place = random_.randrange(len(text))
    return text[:place] + text[place + random_.randint(1, 5) :]


def truncated(random_: random.Random, text: str) -> str:
    """The beginning of a file."""
    return text[: random_.randrange(1, len(text))]


def swapped(random_: random.Random, text: str) -> str:
    """Two lines in each other's place, or one twice."""
    lines = lines_of(text)
    one, other = random_.randrange(len(lines)), random_.randrange(len(lines))
    if random_.random() < 0.5:
        lines[one], lines[other] = lines[other], lines[one]
    else:
        lines.insert(one, lines[other])
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def replaced_words(random_: random.Random, text: str) -> str:
    """Words in the places of other words."""
    words = re.findall(r"\w+", text)
    for _ in range(random_.randint(1, 4)):
        old, new = random_.choice(words), random_.choice([*words, "pmap", "None", "def", "*", "await", "yield", "jax"])
        places = [m.start() for m in re.finditer(rf"\b{re.escape(old)}\b", text)]
        if places:
            place = random_.choice(places)
            text = text[:place] + new + text[place + len(old) :]
    return text


def spoilt(random_: random.Random, text: str) -> str:
    """Characters that no source should hold."""
    for _ in range(random_.randint(1, 3)):
        place = random_.randrange(len(text))
        bad = random_.choice(
            ("\0", "\x1a", "\x7f", "\u2028", "\u00a0", "\ufeff", "\x0b", "\x85", "(", '"', "\\", "\t", "\r")
        )
        text = text[:place] + bad + text[place:]
    return text


HARMLESS: tuple[Mutation, ...] = (
    *(commented, form_feeds, tabs, nested, one_line, spread, names, strings, modern, deep, chain, many_lines),
)
HARMFUL: tuple[Mutation, ...] = (dropped, truncated, swapped, replaced_words, spoilt)


def encoded(random_: random.Random, text: str) -> bytes:
    """The bytes of a text: line endings, byte order marks, codecs, and a cookie that tells or lies."""
    newline = random_.choices(("\n", "\r\n", "\r", "mixed"), (10, 4, 1, 1))[0]
    if newline == "mixed":
        text = "".join(line.replace("\n", random_.choice(("\n", "\r\n", "\r"))) for line in lines_of(text))
    else:
        text = text.replace("\n", newline)
    if random_.random() < 0.2:
        text = text.rstrip("\r\n")
    end = "\n" if newline == "mixed" else newline
    kind = random_.choices(
        ("utf-8", "bom", "latin-1", "cp1252", "shift_jis", "utf-16", "lie", "broken"), (20, 4, 3, 2, 1, 1, 1, 1)
    )[0]
    if kind == "bom":
        return b"\xef\xbb\xbf" + text.encode("utf-8", "replace")
    if kind in ("latin-1", "cp1252", "shift_jis"):
        return (f"# -*- coding: {kind} -*-{end}# é{end}" + text).encode(kind, "replace")
    if kind == "lie":
        return (random_.choice(("# coding: ascii", "# coding: nonsense", "# coding: utf-7")) + end + text).encode()
    if kind == "broken":
        data = bytearray(text.encode("utf-8", "replace"))
        data[random_.randrange(len(data))] = random_.choice((0xFF, 0xC3, 0x80))
        return bytes(data)
    return text.encode(kind, "replace")


def mutated(seed: str, texts: Sequence[str]) -> bytes:
    """The bytes of one file."""
    random_ = random.Random(seed)
    text = random_.choice(SMALL if random_.random() < 0.6 else texts)
    for _ in range(random_.randint(0, 4)):
        text = random_.choice(HARMLESS)(random_, text)
    if random_.random() < 0.3:
        for _ in range(random_.randint(1, 3)):
            text = random_.choice(HARMFUL)(random_, text) or "\n"
    return encoded(random_, text)


def _is_plain(text: str, lines: Sequence[str], place: int) -> bool:
    """Whether a line is neither within a string of several lines nor behind a backslash, as far as one can see."""
    before = "".join(lines[:place])
    quotes = before.count('"""') % 2 or before.count("'''") % 2
    line = lines[place]
    return not quotes and '"""' not in line and "'''" not in line and not before.endswith("\\\n") and "\\\n" not in line


SMALL: tuple[str, ...] = (
    "import jax\n\n\ndef f(x):\n    return x + 1\n\n\np = jax.pmap(f, axis_name='i')\nprint(p)\n",
    (
        "from jax import pmap\nfrom functools import partial\n\n@partial(pmap, axis_name='b', donate_argnums=(0,))\n"
        "def step(s, x):\n    return s\n"
    ),
    (
        "import jax as J\nclass T:\n    def __init__(self):\n        self.p = J.pmap(self.f, 'i', in_axes=(0, None))\n"
        "    def f(self, x, y):\n        return x\n"
    ),
    (
        "import jax, functools\nfrom flax import jax_utils\nfrom flax.training.common_utils import shard\n"
        "import jax.numpy as jnp\nimport numpy as np\ndef step(w, x):\n"
        "    return w - jax.lax.pmean(x.mean(0), 'batch')\n"
        "p = jax.pmap(step, axis_name='batch')\nw = jax_utils.replicate(jnp.zeros(3))\nfor i in range(3):\n"
        "    w = p(w, shard(np.ones((16, 3))))\nprint(w[0])\n"
    ),
    (
        "import jax\ntry:\n    from jax import pmap\nexcept ImportError: pmap = None\n"
        "x = pmap(lambda x: x)(1) if pmap else 0\n"
    ),
)
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
