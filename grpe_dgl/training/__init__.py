"""Training: losses, metrics, the schedule, the loop, and a run in its folder."""
