"""Positional encodings of a dataset's graphs: how they are computed, and the files that hold them."""
