"""Training: losses, metrics, the schedule and the loop."""
