"""Features into a model's width."""

import torch
from torch import nn
from torch.nn import functional as F


class Projection(nn.Linear):
    """A linear layer that also takes one-hot rows as the indices of their ones.

    A product with a one-hot row picks a column of the weight: looked up, it is the same numbers and
    the same gradients without the product.
    """

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """`[..., features]` of floats, or `[...]` of indices, to `[..., width]`."""
        if given.is_floating_point():
            return super().forward(given)
        picked = F.embedding(given, self.weight.t())
        return picked if self.bias is None else picked + self.bias
