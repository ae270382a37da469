"""One batch there and back before a long run: what cannot work stops here, in seconds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psutil
import torch
from torch import nn

from surefit.data.batches import Batch
from surefit.data.templates import Tokenizer
from surefit.data.tokens import IGNORED, Tokens
from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.losses.next_token import supervised_places

NOTHING_TRAINED = refusal("SF181", "nothing-to-train", "No weight of the model is trained.")
BAD_LOSS = refusal("SF182", "loss-not-finite", "The loss of the first batch is not a number.")
NO_GRADIENT = refusal("SF183", "no-gradient", "The loss moves none of the weights to be trained.")
NO_MEMORY = refusal("SF184", "not-enough-memory", "A step needs more memory than there is.")
OUTSIDE = refusal("SF185", "token-outside-vocabulary", "A token id has no row in the embedding.")
TOO_MANY_PLACES = refusal(
    "SF186", "row-longer-than-model", "A row has more tokens than the model has places."
)
NOT_READ_BACK = refusal(
    "SF187", "target-not-read-back", "The supervised tokens of a row do not spell its target."
)


@dataclass(frozen=True, slots=True)
class Memory:
    """What a step holds, in bytes."""

    weights: int
    gradients_and_optimizer: int
    """For every trained weight its gradient and Adam's two moments."""

    activations: int
    """Counted in a forward pass on the longest batch: what autograd keeps for the way back."""

    @property
    def total(self) -> int:
        return self.weights + self.gradients_and_optimizer + self.activations

    def __str__(self) -> str:
        return (
            f"about {megabytes(self.total)}: weights {megabytes(self.weights)}, gradients and "
            f"optimizer {megabytes(self.gradients_and_optimizer)}, activations of the longest "
            f"batch {megabytes(self.activations)}"
        )


def check_tokens(rows: Sequence[Tokens], tokenizer: Tokenizer, model: Any) -> None:
    """Raises `BadInput` for ids or lengths that this model has no place for."""
    table = model.get_input_embeddings().weight.shape[0]
    highest = max(rows, key=lambda row: max(row.ids))
    if max(highest.ids) >= table:
        token = max(highest.ids)
        raise BadInput(
            OUTSIDE.finding(
                Place("model"),
                f"Token {token} (`{tokenizer.convert_ids_to_tokens(token)}`) has no row in the "
                f"embedding: it has {table} rows, 0 to {table - 1}.",
                facts=[
                    Fact("tokenizer", f"{len(tokenizer)} tokens"),
                    Fact("first row with it", str(highest.number + 1)),
                ],
                why="Tokens were added to the tokenizer, or it belongs to another model.",
                fixes=[Fix("Use the tokenizer that was saved with this model.")],
            )
        )
    places = getattr(model.config, "max_position_embeddings", None)
    longest = max(rows, key=lambda row: len(row.ids))
    if places is not None and len(longest.ids) > places:
        raise BadInput(
            TOO_MANY_PLACES.finding(
                Place("model"),
                f"The longest row has {len(longest.ids)} tokens; the model has {places} places.",
                facts=[Fact("longest row", str(longest.number + 1))],
                fixes=[Fix(f"Lower the limit:  --max-tokens {places}")],
            )
        )


def check_read_back(row: Tokens, target: str, tokenizer: Tokenizer) -> None:
    """Raises `BadInput` if the last answer of a row is not its target, whole, and then EOS."""
    labels = [label for label in row.labels[row.answer_at :] if label != IGNORED]
    said = tokenizer.decode(labels, skip_special_tokens=True)
    if labels[-1:] == [tokenizer.eos_token_id] and _letters(target) in _letters(said):
        return
    raise BadInput(
        NOT_READ_BACK.finding(
            Place("tokenizer"),
            f"The supervised tokens of row {row.number + 1} do not spell its target.",
            facts=[Fact("target", target[:200]), Fact("they spell", said[:200])],
            why="The tokenizer loses characters of it, so no model could learn to write them.",
            fixes=[Fix("Use a model whose tokenizer knows these characters.")],
        )
    )


def preflight(loss_of: nn.Module, longest: Batch) -> tuple[float, Memory]:
    """The loss of the longest batch, once there and back, and what memory a step takes.

    Weights, gradients and random state are left as they were.
    """
    trained = [parameter for parameter in loss_of.parameters() if parameter.requires_grad]
    if not trained:
        raise BadInput(
            NOTHING_TRAINED.finding(
                Place("model"),
                "No weight of the model is to be trained: every one is frozen.",
                fixes=[Fix("Attach adapters with `--lora-targets all-linear`, or train `--full`.")],
            )
        )
    states = torch.get_rng_state(), _accelerator_rng()
    try:
        loss, memory = _there(loss_of, trained, longest)
        if not math.isfinite(loss.item()):
            raise BadInput(_bad_loss(loss.item(), longest))
        if loss.requires_grad:
            loss.backward()
        if not any(p.grad is not None and bool((p.grad != 0).any()) for p in trained):
            raise BadInput(_no_gradient(loss.item(), trained))
    finally:
        loss_of.zero_grad(set_to_none=True)
        torch.set_rng_state(states[0])
        if states[1] is not None:
            torch.cuda.set_rng_state_all(states[1])
    return loss.item(), memory


def _there(
    loss_of: nn.Module, trained: list[nn.Parameter], longest: Batch
) -> tuple[torch.Tensor, Memory]:
    """First one row, to know what the whole batch will hold before it is made."""
    one = {name: tensor[:1] for name, tensor in longest.items()}
    rows = longest["input_ids"].shape[0]
    _, held = _forward(loss_of, one)
    forecast = _memory(loss_of, trained, held * rows)
    _check_room(forecast, longest)
    loss, held = _forward(loss_of, longest)
    return loss, _memory(loss_of, trained, held)


def _forward(loss_of: nn.Module, batch: Batch) -> tuple[torch.Tensor, int]:
    """The loss, and the bytes that autograd keeps for the way back beside the weights."""
    own = {parameter.untyped_storage().data_ptr() for parameter in loss_of.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        loss = loss_of(**batch, places=max(1, supervised_places(batch["labels"])))
    return loss, sum(kept.values())


def _memory(loss_of: nn.Module, trained: list[nn.Parameter], activations: int) -> Memory:
    return Memory(
        weights=sum(p.numel() * p.element_size() for p in loss_of.parameters()),
        gradients_and_optimizer=sum(3 * p.numel() * p.element_size() for p in trained),
        activations=activations,
    )


def _check_room(memory: Memory, longest: Batch) -> None:
    needed = memory.gradients_and_optimizer + memory.activations  # the weights are there already
    if longest["input_ids"].is_cuda:
        room, where = torch.cuda.mem_get_info()[0], "on the GPU"
    else:
        room, where = psutil.virtual_memory().available, "in memory"
    if needed > room:
        rows, tokens = longest["input_ids"].shape
        fits = max(1, int(rows * (room - memory.gradients_and_optimizer) / memory.activations))
        raise BadInput(
            NO_MEMORY.finding(
                Place("settings"),
                f"A step on the longest batch needs {megabytes(needed)}, and {megabytes(room)} "
                f"are free {where}.",
                facts=[
                    Fact("longest batch", f"{rows} rows x {tokens} tokens"),
                    Fact("activations", megabytes(memory.activations)),
                    Fact("gradients and optimizer", megabytes(memory.gradients_and_optimizer)),
                ],
                fixes=[
                    *(
                        [Fix(f"Smaller batches:  --batch-size {fits} --accumulate {rows // fits}")]
                        if fits < rows
                        else []
                    ),
                    Fix("Hold fewer activations:  --gradient-checkpointing"),
                ],
            )
        )


def _accelerator_rng() -> list[torch.Tensor] | None:
    return torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None


def _bad_loss(loss: float, batch: Batch) -> Any:
    return BAD_LOSS.finding(
        Place("model"),
        f"The loss of the first batch is {loss}, before any training.",
        facts=[Fact("supervised tokens in it", str(supervised_places(batch["labels"])))],
        why="Its logits are not finite: the weights hold NaN or Inf, or overflow this precision.",
        fixes=[Fix("Try `--precision fp32`; if it stays, the model's weights are damaged.")],
    )


def _no_gradient(loss: float, trained: list[nn.Parameter]) -> Any:
    return NO_GRADIENT.finding(
        Place("model"),
        f"The loss ({loss:.4f}) gives none of the {len(trained)} tensors to be trained a gradient.",
        why="They do not take part in the loss, so no step would change them.",
        fixes=[Fix("Choose layers that the model uses:  --lora-targets all-linear")],
    )


def megabytes(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _letters(text: str) -> str:
    """Without white space and case, which some tokenizers do not keep."""
    return "".join(text.split()).casefold()
