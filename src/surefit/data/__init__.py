"""Source -> rows -> tokens -> batches."""
