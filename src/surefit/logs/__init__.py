"""Training logs, read as series of numbers and judged by them."""
