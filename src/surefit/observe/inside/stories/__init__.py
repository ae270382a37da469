"""How a tensor came to be, recorded in a second run."""
