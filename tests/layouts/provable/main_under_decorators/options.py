import functools
import time


def timed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        start = time.time()
        result = function(*args, **kwargs)
        print(time.time() - start > 0)
        return result

    return wrapper


def with_steps(count):
    def decorator(function):
        def wrapper(*args, **kwargs):
            return function(*args, steps=count, **kwargs)

        return wrapper

    return decorator
