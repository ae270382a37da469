"""What a run writes, talks to and starts outside itself."""
