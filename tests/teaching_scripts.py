"""The parts that small scripts of distillation are made of."""

from textwrap import dedent

HEAD = """
    import copy
    import torch
    from torch import nn
    from torch.nn import functional as F

    def net(width, dropout=0.3):
        return nn.Sequential(
            nn.Linear(6, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, 5))

    def divergence(given, wanted):
        return F.kl_div(given.log_softmax(-1), wanted.softmax(-1), reduction="batchmean")

    torch.manual_seed(0)
    x, y = torch.randn(16, 6), torch.randint(0, 5, (16,))
"""


def script(body: str) -> str:
    return dedent(HEAD).lstrip("\n") + dedent(body)
