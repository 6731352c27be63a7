from buffers import SECOND


def fill():
    SECOND[5:] = 5
