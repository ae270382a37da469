"""What became of names and arguments that libraries have given up."""
