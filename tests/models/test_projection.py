"""A lookup of one-hot rows is their product: the same values, the same gradients."""

import torch
from torch.nn import functional as F

from surefit.models.projection import Projection


def test_indices_give_what_one_hot_rows_give() -> None:
    torch.manual_seed(0)
    ids = torch.randint(0, 271, (8, 20))
    by_product, by_lookup = Projection(271, 32), Projection(271, 32)
    by_lookup.load_state_dict(by_product.state_dict())
    pull = torch.randn(8, 20, 32)

    product = by_product(F.one_hot(ids, 271).float())
    lookup = by_lookup(ids)
    (product * pull).sum().backward()
    (lookup * pull).sum().backward()

    assert torch.equal(product, lookup)
    for one, other in zip(by_product.parameters(), by_lookup.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-5, atol=1e-6)
