"""What runs inside a user's program.

It imports the standard library and `doctor.observations` alone, asks `sys.modules` and never
imports what the program has not, runs no code of the user's, and draws no random number.
"""
