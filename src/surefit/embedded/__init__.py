"""The default model, its tokenizer and its rows, which come with the package."""

from pathlib import Path

MODEL = Path(__file__).parent / "model"
"""A folder that `transformers` loads: weights (bfloat16), configuration, tokenizer."""

ROWS = Path(__file__).parent / "rows.jsonl"
"""1000 rows of `input` and `target`; no invented name occurs in two of them."""
