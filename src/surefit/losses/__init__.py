"""Losses, each a module whose forward pass gives the loss of a batch."""
