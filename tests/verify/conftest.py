"""Lets the tests of this folder import `marked`, the helper that marks and verifies their programs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
