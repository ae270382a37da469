"""Terms that compare two outputs of the same layers."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from surefit.observe.inside.measuring.loss_terms import described, terms_of

encoder, predictor = nn.Linear(6, 4), nn.Linear(4, 4)
x, y = torch.randn(8, 6), torch.randn(8, 6)


def sides(loss: Tensor) -> list[int | None]:
    return [term.attached_target for term in described(terms_of(loss.grad_fn))]


def test_the_side_that_is_not_predicted_is_the_target() -> None:
    first, second = encoder(x), encoder(y)
    predicted = predictor(first)
    assert sides(-F.cosine_similarity(predicted, second).mean()) == [1]
    assert sides(F.mse_loss(second, predicted)) == [0]
    assert sides((2 - 2 * F.cosine_similarity(predicted, second)).mean()) == [1]
    by_hand = (F.normalize(predicted, dim=1) * F.normalize(second, dim=1)).sum(1).mean()
    assert sides(-by_hand) == [1]
    both = F.cosine_similarity(predicted, second) + F.cosine_similarity(predictor(second), first)
    assert sides(-F.cosine_similarity(predicted, second).mean() + both.mean())[0] == 1


def test_other_losses_have_none() -> None:
    first, second = encoder(x), encoder(y)
    predicted = predictor(first)
    assert sides(-F.cosine_similarity(predicted, second.detach()).mean()) == [None]
    assert sides(F.mse_loss(predicted, torch.randn(8, 4))) == [None]
    assert sides(F.mse_loss(first, second)) == [None]
    assert sides(F.cross_entropy(first @ second.T, torch.arange(8))) == [None]
    assert sides(F.relu(1 - first.std(dim=0)).mean()) == [None]
    assert sides((first * predictor(first)).sum(1).mean()) == [None]
    assert sides(F.mse_loss(predictor(second), second)) == [None]


def test_a_residual_of_one_forward_pass_is_no_comparison() -> None:
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    time = torch.rand(16, 1, requires_grad=True)
    value = net(time)
    (slope,) = torch.autograd.grad(value.sum(), time, create_graph=True)
    assert sides(F.mse_loss(slope, value)) == [None]
