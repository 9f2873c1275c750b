"""Datasets: where they come from, how they are stored, how batches are made of them."""
