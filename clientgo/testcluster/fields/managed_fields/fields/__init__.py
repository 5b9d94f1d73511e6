"""Fields of objects: their paths, sets of them, and the values that they have."""
