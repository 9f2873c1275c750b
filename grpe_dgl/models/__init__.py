"""Families of models: one folder each, named in `grpe_dgl.families`."""
