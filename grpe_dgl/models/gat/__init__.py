"""GAT as in Benchmarking Graph Neural Networks."""
