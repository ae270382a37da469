"""What rules read out of observations and source: pure functions, each of one thing."""
