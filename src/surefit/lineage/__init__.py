"""Where values came from: queries on what the second run recorded."""
