"""Decoding keeps every byte and says precisely what it cannot read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxmigrate.sources import SourceError, decode, read_source, source_lines

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("raw", "encoding", "text"),
    [
        (b"x = 1\n", "utf-8", "x = 1\n"),
        ("x = 'é'".encode(), "utf-8", "x = 'é'"),
        (BOM + b"x = 1\n", "utf-8", "x = 1\n"),
        (BOM + b"# coding: utf-8\n", "utf-8", "# coding: utf-8\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "iso-8859-1", "# -*- coding: latin-1 -*-\nx = 'é'\n"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'\n", "cp1252", None),
        (b"\n# coding=koi8-r\n'\xc1'\n", "koi8-r", "\n# coding=koi8-r\n'а'\n"),
        (b"# coding: utf-8-unix\n", "utf-8", None),
        (b"# coding: UTF8\n", "utf-8", None),
        (b"x = 1\n# coding: latin-1\n", "utf-8", None),
        (b"# one\n# two\n# coding: latin-1\n", "utf-8", None),
        (b"# c\rx = 1\r# coding: latin-1\r", "utf-8", None),
        (b"# coding: shift_jis\n'\x83\x5c'\n", "shift_jis", "# coding: shift_jis\n'ソ'\n"),
        (b"", "utf-8", ""),
    ],
)
def test_decodes_as_python_would_and_back(raw: bytes, encoding: str, text: str | None) -> None:
    source = decode(raw, "a.py")
    assert source.encoding == encoding
    assert text is None or source.text == text
    assert source.encode(source.text) == raw
    ast.parse(source.text)


@pytest.mark.parametrize(
    ("raw", "newline", "final"),
    [
        (b"a = 1\nb = 2\n", "\n", True),
        (b"a = 1\r\nb = 2\r\n", "\r\n", True),
        (b"a = 1\rb = 2", "\r", False),
        (b"a = 1\r\nb = 2\n", "mixed", True),
        (b"a = 1\n\rb = 2\n", "mixed", True),
        (b"a = 1", "", False),
    ],
)
def test_line_endings_stay_as_they_are(raw: bytes, newline: str, final: bool) -> None:
    source = decode(raw, "a.py")
    assert (source.newline, source.final_newline) == (newline, final)
    assert source.text.encode() == raw


def test_lines_are_counted_as_the_parser_counts() -> None:
    source = decode("a = 1\x0c\nb = '\u2028'\r\nc = 3\rd = 4".encode(), "a.py")
    assert source.lines == ("a = 1\x0c", "b = '\u2028'", "c = 3", "d = 4")
    assert [statement.lineno for statement in ast.parse(source.text).body] == [1, 2, 3, 4]
    assert source.line(2) == "b = '\u2028'"
    assert (source.line(0), source.line(5)) == ("", "")


@pytest.mark.parametrize(
    ("raw", "line", "column", "words"),
    [
        (b"# coding: nonesuch\nx = 1\n", 1, 0, "unknown encoding 'nonesuch'"),
        (b"\n# coding: rot13\n", 2, 0, "unknown encoding 'rot13'"),
        (b"# coding: undefined\nx\n", 1, 0, "undefined"),
        (b"# coding: utf-16\nx\n", 1, 0, "unknown encoding 'utf-16'"),
        (BOM + b"# coding: latin-1\n", 1, 0, "byte order mark"),
        (b"x = 1\ny = '\xe9'\n", 2, 6, "byte 0xe9 is not utf-8"),
        (b"x = '\xc3\xa9' + '\xff'", 1, 12, "byte 0xff"),
        (b"x = 1\r\ny = '\0'\r\n", 2, 6, "null byte"),
        (b"# coding: ascii\n\n'\xe9'", 3, 2, "not ascii"),
        ("x = 1\n".encode("utf-16"), 1, 1, "byte 0xff"),
    ],
)
def test_what_cannot_be_decoded_is_named_by_place(raw: bytes, line: int, column: int, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        decode(raw, "dir/a.py")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"dir/a.py:{line}:")


def test_character_outside_the_encoding_is_refused() -> None:
    source = decode(b"# coding: latin-1\nx = 1\n", "a.py")
    with pytest.raises(SourceError, match=r"a\.py:2:6: character 'а' does not exist"):
        source.encode("# coding: latin-1\nx = '\u0430'\n")


def test_encoding_that_loses_bytes_is_readable_but_not_writable() -> None:
    raw = b"# coding: utf-7\nx = '+AGE-'\n"
    source = decode(raw, "a.py")
    assert "x = 'a'" in source.text
    assert not source.survives_writing
    with pytest.raises(SourceError, match="cannot be written back unchanged"):
        source.encode(source.text)


CODECS = ("utf-8", "utf-7", "latin-1", "cp1252", "shift_jis", "iso2022_jp", "gb18030", "hz", "big5", "cp037")
COOKIES = st.sampled_from([b"", BOM, *(f"# coding: {codec}\n".encode() for codec in CODECS)])


@given(COOKIES, st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_any_bytes_either_survive_or_are_refused(cookie: bytes, body: bytes) -> None:
    raw = cookie + body
    try:
        back = (source := decode(raw, "a.py")).encode(source.text)
    except SourceError:
        return
    assert back == raw


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_source_lines_agree_with_the_parser(text: str) -> None:
    lines = list(source_lines(text))
    assert sum(map(len, lines)) == len(text.replace("\r", "").replace("\n", ""))
    assert all("\n" not in line and "\r" not in line for line in lines)


def test_reading_tells_why_not(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere\.py: no such file or directory"):
        read_source(tmp_path / "nowhere.py")
    with pytest.raises(SourceError, match="is a directory"):
        read_source(tmp_path)


def test_reading_keeps_the_users_name(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\r\n")
    source = read_source(tmp_path / "a.py", "sub/a.py")
    assert (source.name, source.path, source.raw) == ("sub/a.py", tmp_path / "a.py", b"x = 1\r\n")
