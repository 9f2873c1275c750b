"""GCN with GraphNorm: a mean over neighbours, normalised graph by graph."""
