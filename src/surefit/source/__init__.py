"""A user's source: read and asked, and changed without touching the rest of it."""
