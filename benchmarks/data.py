"""Figures of the data pipeline."""
