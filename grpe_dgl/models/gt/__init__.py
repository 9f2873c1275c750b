"""GT: the graph transformer of Dwivedi and Bresson."""
