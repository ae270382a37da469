"""Inputs of sizes that people have, and what surefit takes for them."""
