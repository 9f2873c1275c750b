"""MPNN (sum): the layers of PNA with one aggregator."""
