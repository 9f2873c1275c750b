"""GINE and GINE+: graph isomorphism networks with edges, and with neighbourhoods of a larger radius."""
