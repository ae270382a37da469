"""Loaders of a script that is only read: what they are made of, and where they are asked."""

import ast

from surefit.source.reading import Source

LOADER = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
POSITIONS = {"dataset": 0, "batch_size": 1, "num_workers": 5, "collate_fn": 6, "drop_last": 8}


def loader_argument(source: Source, call: ast.Call, name: str) -> ast.expr | None:
    return source.argument(call, name, POSITIONS.get(name))
