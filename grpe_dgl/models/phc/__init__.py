"""PHC-GNN: message passing with parametrised hypercomplex linear maps."""
