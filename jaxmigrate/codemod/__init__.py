"""Rewriting: LibCST lives here and nowhere else. A plan of typed operations goes in, the new text comes out."""

from __future__ import annotations
