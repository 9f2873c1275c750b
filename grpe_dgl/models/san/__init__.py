"""SAN: the spectral attention network."""
