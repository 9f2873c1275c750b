"""Files, downloads and worker processes: what touches the system."""
