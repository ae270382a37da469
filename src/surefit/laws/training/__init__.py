"""Training loops: steps, schedules, graphs and teachers."""
