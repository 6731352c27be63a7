"""What the program takes from libraries, and a function that has the name of another one of theirs."""
from flax.training.common_utils import get_metrics
from numpy import asarray


def stack_forest(history):
    return len(history)


def summary(history):
    return {name: values.mean() for name, values in get_metrics(history).items()}, stack_forest(history)
