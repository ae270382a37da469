"""What laws are measured on: for each law a file, with what one process saw of it as plain data.

Each kind is a `Measure`. Only the standard library is imported here: these modules are loaded
inside the user's program.
"""
