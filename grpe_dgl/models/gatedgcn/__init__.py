"""GatedGCN as in Benchmarking Graph Neural Networks."""
