"""A student out of a real model's own layers, and text to distil it with: no download is needed.

    python -m tools.every_third_layer --out runs/third
    surefit distill --teacher smollm2 --student runs/third/student --data runs/third/text.txt

The student has the first of every three layers of SmolLM2-135M-Instruct, its embedding and its last
norm. The text is what the standard library says of itself: docstrings of its modules.
"""

import argparse
import ast
import sysconfig
from inspect import cleandoc
from pathlib import Path
from typing import Any

import torch
from torch import nn

from surefit.models.load import find_model, load_model, load_tokenizer

EVERY = 3
SHORTEST = 200
"""Characters of a docstring that is worth reading."""

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def every_third_layer(model: Any) -> Any:
    """The same model with fewer layers; what is left of it is as it was."""
    kept = list(model.model.layers)[::EVERY]
    for number, layer in enumerate(kept):
        layer.self_attn.layer_idx = number
    model.model.layers = nn.ModuleList(kept)
    model.config.num_hidden_layers = len(kept)
    return model


def docstrings() -> list[str]:
    """Of the standard library's modules, classes and functions, in the order of their files."""
    found: dict[str, None] = {}
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_bytes())):
            text = ast.get_docstring(node) if isinstance(node, Documented) else None
            if text and len(text) >= SHORTEST:
                paragraphs = [part for part in cleandoc(text).split("\n\n") if part.strip()]
                found["\n".join(paragraphs)] = None
    return list(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    source = find_model("smollm2")
    student = every_third_layer(load_model(source, torch.float32))
    student.save_pretrained(asked.out / "student")
    load_tokenizer(source).save_pretrained(asked.out / "student")
    texts = docstrings()
    (asked.out / "text.txt").write_text("\n\n".join(texts), encoding="utf-8")
    weights = sum(parameter.numel() for parameter in student.parameters())
    print(f"a student of {weights:,} weights, {len(texts):,} texts")


if __name__ == "__main__":
    main()
