"""What is trained, step by step: losses, gradients, updates, modes."""
