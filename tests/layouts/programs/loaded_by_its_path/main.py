"""A script that other code runs by its path: its variables are read there, and a function in it is replaced."""
import importlib.util
import os
import runpy

import numpy as np

PATH = os.path.join(os.path.dirname(__file__), "script.py")
state = runpy.run_path(PATH)["state"]
spec = importlib.util.spec_from_file_location("script", PATH)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
script.reduce = lambda grad: grad
names = {"__name__": "other"}
exec(open(PATH).read(), names)
names["reduce"] = lambda grad: grad * 2
RESULT = [np.asarray(state).sum(), np.asarray(script.state).shape, script.fit(), names["fit"]()]
