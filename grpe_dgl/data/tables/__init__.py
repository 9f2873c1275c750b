"""Tables of molecules: reading them and their target columns."""
