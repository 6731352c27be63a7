"""What follows from what the code says: which axes are bound where, and which values vary over them."""
