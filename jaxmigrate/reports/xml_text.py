"""Text for XML 1.0, which cannot hold every character that a file name or a message can, and a document of it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # what terminals take for colours, as programs print them
# Control characters, and the lone surrogates that stand for undecodable bytes of a file name.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def legal(text: str) -> str:
    """The text with everything replaced that no XML document may contain."""
    return _ILLEGAL.sub("\ufffd", _COLOURS.sub("", text))


def document(root: ET.Element) -> str:
    """An element, whose lines are indented for it, as a whole document."""
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def suite_of(path: str) -> str:
    """What a CI server groups the cases of a file under: its path as a dotted name."""
    stem = path.replace("\\", "/").rpartition(".")[0] or path
    return legal(".".join(part for part in stem.split("/") if part.strip(".")))
