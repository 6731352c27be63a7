import numpy as np

from packs import blank


def seen(pack):
    import main

    blank(pack)
    return np.asarray(main.batch).reshape(16, 3).tolist()
