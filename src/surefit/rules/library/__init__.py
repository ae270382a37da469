"""Faults in the use of a library: names and arguments that the installed version does not have."""
