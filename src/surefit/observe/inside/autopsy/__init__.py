"""What an exception left behind: frames, values, modules, rows."""
