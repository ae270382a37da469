"""Experiments with the live model and the live batch, in a fork of the training process.

The fork runs the model in evaluation mode on changed inputs and writes down what changed. The
training process does not wait for it, and nothing that the fork does reaches it.
"""
