"""Makes the embedded default model, its tokenizer and its rows; see README.md."""
