"""A star import brings in a stacked variable."""
from setup_state import *

RESULT = np.asarray(STATE).sum()
