"""EGT: the edge-augmented graph transformer."""
