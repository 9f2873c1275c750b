"""Principal neighbourhood aggregation (PNA)."""
