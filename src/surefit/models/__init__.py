"""Models, their tokenizers, their adapters and their answers."""
