"""Where datasets come from, one publisher or format a file."""
