"""Lets `python -m jaxmigrate` stand in for the console script."""

import sys

from jaxmigrate.cli import main

if __name__ == "__main__":
    sys.exit(main())
