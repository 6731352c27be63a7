import numpy

inputs = numpy.cos(numpy.arange(96, dtype=numpy.float32)).reshape(8, 4, 3)
inputs[0] = 2.5
