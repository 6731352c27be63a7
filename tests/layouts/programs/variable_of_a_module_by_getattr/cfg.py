state = None
