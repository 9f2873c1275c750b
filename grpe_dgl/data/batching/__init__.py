"""Batches of a dataset: which graphs, and how they are collated."""
