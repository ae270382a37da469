"""What operations of torch demand of their operands, and the call that failed."""
