"""A module that is imported by its name at run time."""
import importlib
import sys

import numpy as np

found = importlib.import_module("setup_" + "state").STATE
RESULT = [np.asarray(found).sum(), np.asarray(sys.modules["setup_state"].STATE).shape]
