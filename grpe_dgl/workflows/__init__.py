"""What combines training, inference and reporting."""
