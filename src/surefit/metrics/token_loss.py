"""The loss of a model on rows: a mean over their supervised tokens, however they are batched."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from surefit.data.batches import PadRows
from surefit.data.tokens import TokenSet
from surefit.losses.next_token import NextTokenLoss
from surefit.metrics.perplexity import Perplexity
from surefit.models.answer import ALL, Share


@torch.no_grad()
def token_loss(
    loss_of: NextTokenLoss,
    rows: TokenSet,
    chosen: Sequence[int],
    *,
    pad_id: int,
    batch_size: int,
    share: Share = ALL,
    summed: Callable[..., list[float]] = lambda *values: list(values),
    each: Callable[[int], object] = lambda _: None,
) -> Perplexity:
    """Of the rows at these places. Processes that share them all get the loss of every row.

    `each` is told after every batch of this process how many rows it had.
    """
    by_length = sorted(chosen, key=lambda row: int(rows.lengths[row]))
    batches = [by_length[at : at + batch_size] for at in range(0, len(by_length), batch_size)]
    collate, device = PadRows(pad_id=pad_id), _device(loss_of.model)
    total, places = 0.0, 0
    was_training = loss_of.training
    loss_of.eval()
    try:
        for start in range(0, len(batches), share.world):
            together = batches[start : start + share.world]
            own = together[share.rank] if share.rank < len(together) else []
            if batch_rows := own or (together[0] if share.in_step else []):
                batch = collate(rows.features(batch_rows))
                given = {name: tensor.to(device) for name, tensor in batch.items()}
                loss = float(loss_of(**given, places=1))
                # A process without a batch goes along with the first one's, and counts nothing.
                total += loss if own else 0.0
                places += sum(int(rows.supervised[row]) for row in own)
            each(len(own))
    finally:
        loss_of.train(was_training)
    cross_entropy, counted = summed(total, float(places))
    return Perplexity(cross_entropy, int(counted))


def _device(model: Any) -> torch.device:
    device: torch.device = next(model.parameters()).device
    return device
