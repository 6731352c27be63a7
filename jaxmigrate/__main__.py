"""What the console script and `python -m jaxmigrate` run."""

import gc
import sys
from typing import NoReturn

from jaxmigrate.cli import main


def run() -> NoReturn:
    """Runs the command line and ends the process; what dies with it is not searched for garbage first."""
    gc.set_threshold(50_000)  # little dies in cycles; to look for it every 700 objects is a 30th of linting one file
    status = main()
    gc.freeze()
    sys.exit(status)


if __name__ == "__main__":
    run()
