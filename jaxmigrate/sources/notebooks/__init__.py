"""Notebooks: their code cells joined into one Python module, and edits of that brought back into the cells.

Everything else reads and edits modules. So a notebook is shown to it as one: the cells one after the other, each below
a comment that names it, with what IPython understands and Python does not (magics, shell lines, help) masked line by
line. Lines and columns can be told back to cells, and an edited module can be taken apart again. In the file only the
`source` of cells that changed is replaced; every other byte of the JSON stays.
"""

from jaxmigrate.sources.notebooks.joining import (
    Joined,
    TornError,
    cell_starts,
    check_cells,
    join,
    pieces,
    runs_in_order,
)
from jaxmigrate.sources.notebooks.notebook import Notebook, python_in, read_notebook

__all__ = [
    "Joined",
    "Notebook",
    "TornError",
    "cell_starts",
    "check_cells",
    "join",
    "pieces",
    "python_in",
    "read_notebook",
    "runs_in_order",
]
