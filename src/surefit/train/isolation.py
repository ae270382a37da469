"""Whether packed rows are blind to each other in this model, tried before training."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from surefit.data.batches import Batch
from surefit.data.packing import PackRows
from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.losses.head import bare, parts_of
from surefit.losses.next_token import NextTokenLoss

from .own_loss import apart, tolerance
from .undisturbed import undisturbed

SEEN = refusal(
    "SF162",
    "packed-rows-see-each-other",
    "Rows that are packed into one sequence see each other in this model.",
)

ROWS = 3
TOKENS = 16
"""Of each row: what one token sees of the row before it shows in a few."""


def check_isolation(loss_of: NextTokenLoss, rows: Sequence[Mapping[str, Any]]) -> None:
    """Raises `BadInput` if a row's gradients change when other rows lie before and after it.

    Takes rows as `TokenSet.features` gives them. Compared are the gradients of the rows' loss at
    their own embeddings: the loss itself hardly moves where rows see each other, and the gradients
    of new adapters are half zeros. To be called before `accelerator.prepare`.
    """
    ids = [torch.as_tensor(row["input_ids"])[:TOKENS].tolist() for row in rows]
    ids = [row for row in ids if len(row) > 1][:ROWS]
    if not ids:
        return
    if len(ids) == 1:
        ids *= 2
    if not _takes_positions(loss_of.model):
        raise BadInput(_positions_ignored(loss_of.model))
    with undisturbed(loss_of):
        packed = _gradients(loss_of, ids)
        alone = torch.cat([_gradients(loss_of, [row]) for row in ids], dim=1)
    moved = apart([alone], [packed])
    # Of weights that are no numbers nothing can be said here; preflight refuses them.
    if moved > tolerance(loss_of):
        raise BadInput(_seen(loss_of.model, moved, [len(row) for row in ids]))


def _gradients(loss_of: NextTokenLoss, rows: Sequence[list[int]]) -> torch.Tensor:
    """Of the summed loss, at what the embedding gives: `[1, tokens, hidden]`."""
    device = next(loss_of.parameters()).device
    batch: Batch = PackRows()([{"input_ids": row, "labels": row} for row in rows])
    with _embedded(loss_of.model) as seen:
        loss = loss_of(**{name: tensor.to(device) for name, tensor in batch.items()}, places=1)
    (gradient,) = torch.autograd.grad(loss, seen[:1])
    return gradient


@contextmanager
def _embedded(model: Any) -> Iterator[list[torch.Tensor]]:
    """What the embedding gives while this lasts, made the beginning of the graph."""
    seen: list[torch.Tensor] = []

    def begin(_module: Any, _given: Any, vectors: torch.Tensor) -> torch.Tensor:
        seen.append(vectors.detach().requires_grad_())
        return seen[-1]

    hook = bare(model).get_input_embeddings().register_forward_hook(begin)
    try:
        yield seen
    finally:
        hook.remove()


def _takes_positions(model: Any) -> bool:
    """Whether it can be tried at all; one that takes any name and ignores it is found out."""
    given = inspect.signature(parts_of(model).backbone.forward).parameters
    anything = any(name.kind is inspect.Parameter.VAR_KEYWORD for name in given.values())
    return anything or "position_ids" in given


def _positions_ignored(model: Any) -> Finding:
    return _finding(
        model,
        f"`{type(bare(model)).__name__}` takes no `position_ids`, which separate packed rows.",
        [],
    )


def _seen(model: Any, moved: float, lengths: list[int]) -> Finding:
    return _finding(
        model,
        f"In `{type(bare(model)).__name__}` attention crosses packed rows: the gradients of "
        f"{len(lengths)} rows change by {moved:.1%} when they are packed into one sequence.",
        [
            Fact("rows tried", " and ".join(f"{length} tokens" for length in lengths)),
            Fact("tolerance", f"{tolerance(model):.2%}"),
        ],
    )


def _finding(model: Any, headline: str, facts: list[Fact]) -> Finding:
    attention = getattr(bare(model).config, "_attn_implementation", None)
    return SEEN.finding(
        COMMAND_LINE,
        headline,
        facts=[*facts, Fact("attention", str(attention))],
        why="Each row would be trained as if the previous rows were part of its prompt.",
        fixes=[Fix("Remove `--packing`; rows of similar length are then batched together.")],
    )
