"""Graphormer: a transformer with degree, distance and path encodings."""
