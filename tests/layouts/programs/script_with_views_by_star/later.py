import numpy as np

from packs import blank


def seen(pack):
    import between

    blank(pack)
    return np.asarray(between.batch).reshape(16, 3).tolist()
