"""Rows that differ, and rows that are equal up to rounding."""

import torch

from surefit.observe.inside.experiments.recorded_pass import are_equal, differ


def test_rows_are_compared_up_to_rounding() -> None:
    same = torch.ones(4, 3).mul_(0.1)
    assert are_equal(same, 4)
    assert are_equal(same + torch.linspace(0, 1e-8, 4)[:, None], 4)
    assert not are_equal(same + torch.linspace(0, 1e-3, 4)[:, None], 4)
    assert not are_equal(same, 5)
    assert not are_equal(torch.ones(4, 3, dtype=torch.long), 4)
    assert differ(torch.arange(4), 4)
    assert not differ(same, 4)
    assert not differ(torch.arange(4), 3)
