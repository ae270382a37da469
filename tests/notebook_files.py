"""Notebooks as Jupyter writes them, for tests."""

import json
from typing import Any


def notebook(*cells: str, language: str = "python", indent: int | None = 1) -> str:
    """One cell for each text; those that begin with `#md` are Markdown."""
    document = {
        "cells": [cell(text) for text in cells],
        "metadata": {"kernelspec": {"name": "kernel", "language": language}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"


def cell(text: str) -> dict[str, Any]:
    source = text.splitlines(keepends=True)
    if text.startswith("#md"):
        return {"cell_type": "markdown", "metadata": {}, "source": source}
    empty: list[Any] = []
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": empty,
        "source": source,
    }
