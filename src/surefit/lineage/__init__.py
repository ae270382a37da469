"""Where values came from: queries on what a second run recorded."""
