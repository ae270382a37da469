"""What a fix must achieve, in numbers. That the error went away is not among them.

A proof run looks at every step, the first run at a sample: figures of the two are never compared.
"""
