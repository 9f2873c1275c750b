"""GCN and GIN of the Open Graph Benchmark, with and without a virtual node."""
