"""GRPE: a graph transformer with relative positional encoding."""
