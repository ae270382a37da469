"""A script run in thought: what its values are, as far as the source alone tells."""
