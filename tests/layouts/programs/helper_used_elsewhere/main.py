"""The first slice of something that was never replicated, by the same helper, in a file that says nothing of maps."""
import numpy as np

from training import first, replicate, train

ensemble = {"w": np.arange(12.0).reshape(4, 3)}
RESULT = [first(ensemble), np.shape(replicate(ensemble)["w"]), train()]
