"""The page of a run: one HTML file that opens anywhere, made from what a run left behind."""
