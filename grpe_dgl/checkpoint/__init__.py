"""Checkpoints: the file, the model in it, weight transfer, target units."""
