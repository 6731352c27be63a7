"""The quote that a file uses most is that of its string literals as Python reads them."""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import parse_module

TEXTS = (
    'x = \'a\'  # "b" "c"\n',
    'x = \'it is "one" "two"\'\n',
    'x = \'a\\\'\', "b"\ny = "c"\n',
    "x = r'\\'', 'b'\n",
    '"""It\'s \'a\' \'b\' \\""" \'c\' """\nx = "a"\n',
    "'''A \"a\" \"b\" '' \"c\" '''\nx = 'a'\n",
    "x = ''\ny = \"\"\nz = ''\n",
    "x = 'a\\\n\"b\" \"c\"'\r\ny = u'a' f'{x}'\n",
    "x = {'a': \"b\"}  # 'c' 'd\n# it's\ny = \"e\"\n",
)


def counted(text: str) -> str:
    """The same by Python's tokenizer."""
    tokens = tokenize.generate_tokens(io.StringIO(text, newline=None).readline)
    strings = (token.string.lstrip("rRbBfFuU") for token in tokens if token.type == tokenize.STRING)
    counts = Counter(one[0] for one in strings if not one.startswith(('"""', "'''")))
    return "'" if counts["'"] > counts['"'] else '"'


@pytest.mark.parametrize("text", [*TEXTS, Path(__file__).read_text(encoding="utf-8")])
def test_quotes_are_those_of_literals(text: str) -> None:
    assert style_of(parse_module(Path("main.py"), text)).quote == counted(text)
