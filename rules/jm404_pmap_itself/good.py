STACKED = {"devices"}


def takes_stacked_arrays(name):
    return name in STACKED
