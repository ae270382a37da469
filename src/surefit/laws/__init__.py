"""What must hold in a run: contracts that libraries enforce, invariants that nobody does."""
