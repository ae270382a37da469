"""What all recipes do besides training: preflight, schedule, checkpoints, the run's record."""
