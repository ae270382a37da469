"""Values of a crash: which failed, what they are called, and where they are from."""
