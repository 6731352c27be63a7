"""What holds code among other things, and is read as one module: a notebook, or a file of documentation."""

from __future__ import annotations

from typing import TypeAlias

from jaxmigrate.sources.documentation import Documentation
from jaxmigrate.sources.notebooks import Notebook

Container: TypeAlias = Notebook | Documentation
