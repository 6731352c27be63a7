"""Documentation: the Python in Markdown, in reStructuredText and in docstrings, read as one module for each file.

Blocks of code are joined as the cells of a notebook are, in their order, and edits go back line by line, each with what
stood before the code in its line: an indentation, or the `>>> ` of a doctest.
"""

from jaxmigrate.sources.documentation.blocks import SUFFIXES
from jaxmigrate.sources.documentation.documentation import Documentation, groups_of, read_documentation

__all__ = ["SUFFIXES", "Documentation", "groups_of", "read_documentation"]
