"""The default models, their tokenizer, rows and text, which come with the package."""

from pathlib import Path

MODEL = Path(__file__).parent / "model"
"""A folder that `transformers` loads: weights (bfloat16), configuration, tokenizer."""

ROWS = Path(__file__).parent / "rows.jsonl"
"""1000 rows of `input` and `target`; no invented name occurs in two of them."""

TEACHER = Path(__file__).parent / "teacher"
"""A mixture of experts with the same tokenizer, to distil from."""

STUDENT = Path(__file__).parent / "student"
"""A smaller dense model with the same tokenizer, to distil into."""

TEXT = Path(__file__).parent / "text.txt"
"""Plain texts, parted by blank lines, that neither of the two has seen."""
