"""SMILES to graphs."""
