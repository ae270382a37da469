"""What losses are given, measured on one small run that has several of them."""

from pathlib import Path

import pytest

from running import Ran, forked_observed, written
from surefit.doctor.measures.loss_inputs import LossMeasure, LossSite, TokenSite

SCRIPT = """
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    END = 1


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(20, 8, padding_idx=0)
            self.memory = nn.GRU(8, 8, batch_first=True)
            self.head = nn.Linear(8, 20)

        def forward(self, ids):
            return self.head(self.memory(self.tokens(ids))[0])


    def by_hand(logits, ids, prompt_len):
        scores = torch.log_softmax(logits[:, :-1], -1).gather(2, ids[:, 1:, None])
        return -scores[:, prompt_len:, 0].mean()


    torch.manual_seed(0)
    net, small = Net(), nn.Linear(4, 3)
    optimizer = torch.optim.SGD([*net.parameters(), *small.parameters()], lr=0.1)
    labels = torch.tensor([-100, 2] * 20)
    loader = DataLoader(TensorDataset(torch.randn(40, 4), labels), batch_size=10)
    for rows, classes in loader:
        prompt_len = 4
        ids = torch.randint(2, 20, (6, 9))
        ids[:, 6] = END
        ids[:, 7:] = 0
        output = small(rows)
        losses = [
            F.cross_entropy(output.softmax(1), classes),
            F.mse_loss(torch.sigmoid(output).view(-1), torch.full((30,), 5.0)),
            F.nll_loss(F.log_softmax(output, dim=0), classes),
            F.binary_cross_entropy(torch.full((10, 3), 0.5), torch.sigmoid(output)),
            F.cross_entropy(net(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()),
        ]
        sum(losses).backward()
        by_hand(net(ids), ids, prompt_len).backward()
        F.cross_entropy(net(ids).flatten(0, 1), ids.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder: Path = tmp_path_factory.mktemp("losses")
    ran = forked_observed([written(folder, train=SCRIPT)], folder)
    assert ran.code == 0, ran.err
    assert ran.faults == []
    return ran


def measure(ran: Ran) -> LossMeasure:
    (found,) = ran.seen.all(LossMeasure)
    return found


def site_of(ran: Ran, name: str) -> LossSite:
    return next(site for site in measure(ran).sites if site.name == name)


def tokens_by_line(ran: Ran) -> list[TokenSite]:
    return sorted(measure(ran).tokens, key=lambda site: str(site.place))


def test_predictions_come_out_of_an_operation(ran: Ran) -> None:
    loss = site_of(ran, "cross_entropy")
    assert (loss.produced_by, loss.axis, loss.classes) == ("softmax", 1, 3)
    assert (loss.labels, loss.ignored, loss.empty, loss.loaded) == (40, 20, 0, 4)
    assert (loss.target_least, loss.target_greatest) == (2.0, 2.0)
    picked = site_of(ran, "nll_loss")
    assert (picked.produced_by, picked.axis) == ("log_softmax", 0)


def test_targets_out_of_reach_and_sides_swapped_are_counted(ran: Ran) -> None:
    loss = site_of(ran, "mse_loss")
    assert (loss.produced_by, loss.beyond, loss.elements) == ("sigmoid", 120, 120)
    assert site_of(ran, "binary_cross_entropy").swapped == 4


def test_targets_are_compared_with_the_tokens_that_are_embedded(ran: Ran) -> None:
    following, _, same = tokens_by_line(ran)
    rows = 6 * following.looked
    assert following.matches[2] == following.compared[2] == 8 * rows > 0
    assert (following.padded, following.padded_scored) == (2 * rows, 2 * rows)
    assert (following.ends, following.ends_scored, following.end) == (rows, rows, 1)
    assert following.causal
    assert same.matches[1] == same.compared[1] == 9 * 6 * same.looked > 0


def test_tokens_that_are_scored_by_hand_are_known_by_their_gradient(ran: Ran) -> None:
    by_hand = tokens_by_line(ran)[1]
    assert by_hand.name == "gather"
    assert by_hand.matches[2] == by_hand.compared[2] == by_hand.scored == 4 * 6 * by_hand.looked
    assert by_hand.first_scored == (5, 5)
    assert by_hand.lengths == {"prompt_len": 4}
