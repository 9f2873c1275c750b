"""Files, downloads and worker processes."""
