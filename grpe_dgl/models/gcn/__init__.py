"""GCN as in Benchmarking Graph Neural Networks."""
