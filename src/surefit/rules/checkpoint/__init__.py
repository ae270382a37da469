"""What was saved and does not fit what it is loaded into."""
