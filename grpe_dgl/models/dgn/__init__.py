"""DGN: directional graph networks, which aggregate along an eigenvector of the graph."""
