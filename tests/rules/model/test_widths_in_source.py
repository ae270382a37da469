"""Widths that do not fit, in source that is only read: which text a fix replaces."""

from textwrap import dedent

from reading import read
from surefit.rules.model.feature_width_mismatch import RULE
from surefit.source.patches import patched

SCRIPT = """
    import torch
    from torch import nn

    body = nn.Linear(8, 20)
    head = nn.Linear(21, 2)
    print(head(body(torch.randn(4, 8))))
"""


def test_one_width_is_replaced_and_not_the_layer() -> None:
    (finding,) = read(RULE, SCRIPT)
    text = dedent(SCRIPT)
    results = [patched(fix.edit, text) for fix in finding.fixes if fix.edit is not None]
    assert results == [
        text.replace("nn.Linear(21, 2)", "nn.Linear(20, 2)"),
        text.replace("nn.Linear(8, 20)", "nn.Linear(8, 21)"),
    ]
