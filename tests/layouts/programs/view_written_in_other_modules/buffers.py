import numpy as np

FIRST = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
SECOND = np.array(FIRST)


def fill():
    FIRST[:] = 2
