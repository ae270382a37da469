"""Random targets: one that was drawn for the loss alone, beside noise in the model's input."""

import ast

import pytest

from surefit.laws.invariants.own_targets import drawn_target
from surefit.laws.losses.loss_calls import WrittenLoss
from surefit.source.reading import Source, called

BEFORE = "import torch\nfrom torch.nn import functional as F\ndef step(model, data, t, fixed):\n"


def noise_meant(body: str) -> str | None:
    lines = "".join(f"    {line}\n" for line in body.split("; "))
    source = Source("train.py", BEFORE + lines)
    call = next(call for call in source.every(ast.Call) if called(call) == "mse_loss")
    found = drawn_target(WrittenLoss(source, call, call))
    return found.noise if found else None


@pytest.mark.parametrize(
    "body",
    [
        "e = torch.randn_like(data); x = data + e; F.mse_loss(model(x), torch.randn_like(x))",
        "e = torch.randn(8); x = mix(data, t, e); y = torch.randn(8); F.mse_loss(model(x), y)",
        "e = torch.randn_like(data); F.mse_loss(model(data + 0.5 * e, t), torch.randn(8, 2))",
    ],
)
def test_fresh_noise(body: str) -> None:
    assert noise_meant(body) == "e"


@pytest.mark.parametrize(
    "body",
    [
        "e = torch.randn_like(data); F.mse_loss(model(data + e), e)",
        "x = torch.randn(8, 2); F.mse_loss(model(x), torch.randn(8, 2))",
        "e = torch.randn_like(data); F.mse_loss(model(data + e), data - e)",
        "e = torch.randn(8, 2); y = torch.randn(8, 2); F.mse_loss(model(data + e + y), y)",
        "e = torch.randn_like(data); F.mse_loss(model(data + e), fixed)",
        "e = torch.rand_like(data); F.mse_loss(model(data * e), torch.randn_like(data))",
    ],
)
def test_targets_that_are_meant(body: str) -> None:
    assert noise_meant(body) is None
