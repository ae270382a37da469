"""Feature sequences `[rows, steps, features]`: declared, checked, read in a memory budget."""
