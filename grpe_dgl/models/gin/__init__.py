"""GIN as in Benchmarking Graph Neural Networks."""
