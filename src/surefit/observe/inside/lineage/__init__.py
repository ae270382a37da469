"""Where values came from, recorded in a second run."""
