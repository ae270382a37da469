"""The only code that looks inside a user's program: the parent of it, and what runs in it."""
