import numpy

RATE, TARGET = 0.125, 1.0
BUFFER = numpy.zeros((16, 3), numpy.float32)


def buffer_of(i):
    if i < 2:
        return numpy.full((16, 3), i + 0.5, numpy.float32)
    made = numpy.arange(48, dtype=numpy.float32).reshape(16, 3)
    made[i] = made[i] / 7
    return made
