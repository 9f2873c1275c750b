"""Predictions and fingerprints of libraries: many files in, a folder of parts out, block by block on any machine."""
