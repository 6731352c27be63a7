def scale(w):
    return w * 2
