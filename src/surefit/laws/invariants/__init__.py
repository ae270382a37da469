"""What every healthy run satisfies and no library enforces: one file for each law.

Each has a `LAW`, a `violations_of(case)` that yields what is broken, from measures alone, and a
`watched(recording)` that says on what it was measured.
"""
