"""One batch there and back before a long run: what cannot work stops here, in seconds."""

import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import torch
from torch import nn

from surefit.data.batches import Batch
from surefit.data.templates import Tokenizer
from surefit.data.tokens import IGNORED, Tokens, TokenSet
from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refuse_if
from surefit.losses.places import CHUNK, supervised_places

from .allocator import give_back_freed_memory
from .lost_updates import finding, lost_updates, refused
from .memory import Memory, Pass, free_memory, measured, megabytes, memory_of

NOTHING_TRAINED = refusal("SF181", "nothing-to-train", "No weight of the model is trained.")
BAD_LOSS = refusal("SF182", "loss-not-finite", "The loss of the first batch is not a number.")
NO_GRADIENT = refusal(
    "SF183", "no-gradient", "The loss gives none of the trainable weights a gradient."
)
NO_MEMORY = refusal("SF184", "not-enough-memory", "A step needs more memory than is free.")
OUTSIDE = refusal("SF185", "token-outside-vocabulary", "A token id has no row in the embedding.")
TOO_MANY_PLACES = refusal(
    "SF186", "row-longer-than-model", "A row has more tokens than the model has positions."
)
NOT_READ_BACK = refusal(
    "SF187", "target-not-read-back", "The supervised tokens of a row do not decode to its target."
)

AMPLE = 2.0
"""Room in sizes of a step. glibc keeps what tensors have freed in a heap full of holes: up to 1.6
times as much was measured (`benchmarks/memory.py`)."""

PART = 128
"""Tokens of a row that a forecast is made from, at most: what a step keeps is a polynomial of them,
and the first step comes sooner."""

FEW_PLACES = 9
"""Supervised in one part of a batch; beside the same part with one, they tell what each costs."""


def check_tokens(sets: Sequence[TokenSet], tokenizer: Tokenizer, model: Any) -> None:
    """Raises `BadInput` for ids or lengths that this model has no place for."""
    filled = [rows for rows in sets if len(rows)]
    table = model.get_input_embeddings().weight.shape[0]
    token, row = max((_highest(rows, rows.highest_ids) for rows in filled), key=itemgetter(0))
    if token >= table:
        raise BadInput(
            OUTSIDE.finding(
                Place("model"),
                f"Token {token} (`{tokenizer.convert_ids_to_tokens(token)}`) has no row in the "
                f"embedding: it has {table} rows, 0 to {table - 1}.",
                facts=[
                    Fact("tokenizer", f"{len(tokenizer)} tokens"),
                    Fact("first row with it", str(row + 1)),
                ],
                why="Tokens were added to the tokenizer, or it belongs to another model.",
                fixes=[Fix("Use the tokenizer that was saved with this model.")],
            )
        )
    places = getattr(model.config, "max_position_embeddings", None)
    length, row = max((_highest(rows, rows.lengths) for rows in filled), key=itemgetter(0))
    if places is not None and length > places:
        raise BadInput(
            TOO_MANY_PLACES.finding(
                Place("model"),
                f"The longest row has {length} tokens; the model has {places} positions.",
                facts=[Fact("longest row", str(row + 1))],
                fixes=[Fix(f"Lower the limit:  --max-tokens {places}")],
            )
        )


def _highest(rows: TokenSet, numbers: Any) -> tuple[int, int]:
    """The highest of a number that each row has, and the first row with it."""
    at = int(numbers.argmax())
    return int(numbers[at]), rows.tokens[at].number


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


def preflight(
    loss_of: nn.Module,
    longest: Batch,
    *,
    learning_rate: float | None = None,
    accumulates: bool = False,
    backward: Callable[[torch.Tensor], object] = torch.Tensor.backward,
    instead: Batch | None = None,
) -> tuple[float, Memory]:
    """The loss of the longest batch, once there and back, and what memory a step takes.

    A smaller batch goes `instead` where the forecast leaves ample room: the first step then comes
    sooner, and the memory told is the forecast. Where room is short, freed memory is given back at
    once from here on, so that a step takes what is told and no more.

    Raises `BadInput` for what cannot work: also for steps of this learning rate, the highest of
    the run, that would round to nothing. `accumulates`: a step has several batches. `backward` is
    the way back as the run makes it: in fp16 it scales the loss.
    Weights, gradients and random state are left as they were.
    """
    trained = [parameter for parameter in loss_of.parameters() if parameter.requires_grad]
    if not trained:
        raise BadInput(
            NOTHING_TRAINED.finding(
                Place("model"),
                "No weight of the model is trainable: all are frozen.",
                fixes=[
                    Fix(
                        "Add adapters with `--lora-targets all-linear`, or train all weights with "
                        "`--full`."
                    )
                ],
            )
        )
    states = torch.get_rng_state(), _accelerator_rng()
    try:
        forecast = memory_forecast(loss_of, longest, accumulates=accumulates)
        ample = _check_room(forecast, longest)
        if not ample:
            give_back_freed_memory()
        batch = instead if instead is not None and ample else longest
        loss, memory = _there_and_back(loss_of, batch, accumulates, backward)
        if batch is instead:
            memory = forecast
        if not math.isfinite(loss):
            raise BadInput(_bad_loss(loss, batch))
        if not any(p.grad is not None and bool((p.grad != 0).any()) for p in trained):
            raise BadInput(_no_gradient(loss, trained))
        if learning_rate is not None:
            lost = lost_updates(trained, learning_rate)
            refuse_if(finding(one) for one in lost if refused(one))
    finally:
        loss_of.zero_grad(set_to_none=True)
        torch.set_rng_state(states[0])
        if states[1] is not None:
            torch.cuda.set_rng_state_all(states[1])
    return loss, memory


def memory_forecast(loss_of: nn.Module, longest: Batch, *, accumulates: bool = False) -> Memory:
    """What the longest batch will hold, from parts of it; nothing of its size is made."""
    # Processes that share a model would wait for each other in here, and learn nothing by it.
    module: nn.Module = getattr(loss_of, "module", loss_of)
    rows, tokens = longest["input_ids"].shape
    parts = [_part(longest, halvings) for halvings in range(3)]
    passes = [_forward(module, part) for part in parts]
    sizes = [part["input_ids"].shape[1] for part in parts]
    constant, linear, square = _curve(sizes, [one.kept for one in passes])
    kept_by_loss, working = _of_the_loss(module, longest, passes)
    kept = constant + rows * (linear * tokens + square * tokens**2) + kept_by_loss
    trained = [p.numel() * p.element_size() for p in module.parameters() if p.requires_grad]
    # A tied embedding's gradient comes in two parts, and then there is their sum.
    peak = max(kept + working, sum(trained) + 2 * max(trained))
    return memory_of(module, Pass(int(kept), int(peak)), accumulates=accumulates)


def _of_the_loss(module: nn.Module, longest: Batch, passes: list[Pass]) -> tuple[float, float]:
    """What it keeps and what it needs for a moment, from one place and a few more."""
    few, one = _forward(module, _part(longest, 2, FEW_PLACES)), passes[2]
    tokens, part_tokens = longest["input_ids"].shape[1], _part(longest, 0)["input_ids"].shape[1]
    places = supervised_places(longest["labels"])
    at_once = min(places, CHUNK) if getattr(module, "way", "chunks") == "chunks" else places
    kept = (few.kept - one.kept) / (FEW_PLACES - 1)
    working = ((few.peak - few.kept) - (one.peak - one.kept)) / (FEW_PLACES - 1)
    of_layers = max(one.peak - one.kept for one in passes) * tokens / part_tokens
    return max(0.0, kept * (places - 1)), max(of_layers, working * at_once)


def _part(batch: Batch, halvings: int, places: int = 1) -> Batch:
    """The beginning of the first of several rows, or of the first quarter of a single one, so many
    times halved.

    So few places are supervised because the head can cost more than all layers.
    """
    rows, tokens = batch["input_ids"].shape
    most = min(PART, tokens if rows > 1 else tokens >> 2)
    cut = max(FEW_PLACES + 1, most >> halvings)
    part = {name: tensor[:1, :cut] for name, tensor in batch.items()}
    labels = torch.full_like(part["input_ids"], IGNORED)
    labels[:, -places:] = part["input_ids"][:, -places:]
    if "position_ids" in part:
        # Two rows, however small the part: a single one would need no mask.
        half = -(-len(labels[0]) // 2)
        part["position_ids"] = torch.arange(len(labels[0]), device=labels.device)[None] % half
    return {**part, "labels": labels}


def _curve(sizes: list[int], counts: list[int]) -> tuple[float, float, float]:
    """Bytes by tokens of a row: what copies of weights take, what layers and what masks take."""
    (x, y, z), (a, b, c) = sizes, counts
    if len({x, y, z}) < 3:
        return 0.0, a / x, 0.0
    near, far = (a - b) / (x - y), (b - c) / (y - z)
    square = max(0.0, (near - far) / (x - z))
    linear = max(0.0, near - square * (x + y))
    return max(0.0, a - linear * x - square * x**2), linear, square


def _forward(module: nn.Module, batch: Batch) -> Pass:
    places = max(1, supervised_places(batch["labels"]))
    return measured(module, batch.values(), lambda: module(**batch, places=places))[1]


def _there_and_back(
    loss_of: nn.Module,
    longest: Batch,
    accumulates: bool,
    backward: Callable[[torch.Tensor], object],
) -> tuple[float, Memory]:
    places = max(1, supervised_places(longest["labels"]))
    loss, found = measured(
        loss_of, longest.values(), lambda: loss_of(**longest, places=places), backward
    )
    return float(loss.detach()), memory_of(loss_of, found, accumulates=accumulates)


def _check_room(memory: Memory, longest: Batch) -> bool:
    """Whether there is ample room, on a CPU; raises `BadInput` where there is too little."""
    on_gpu = longest["input_ids"].is_cuda
    room, where = free_memory(on_gpu), "on the GPU" if on_gpu else "in memory"
    needed = memory.beside_weights  # the weights are there already
    if needed <= room:
        return not on_gpu and AMPLE * needed <= room
    rows, tokens = longest["input_ids"].shape
    fixed = needed - memory.activations
    fits = max(1, int(rows * (room - fixed) / max(1, memory.activations)))
    packed = "position_ids" in longest
    raise BadInput(
        NO_MEMORY.finding(
            Place("settings"),
            f"A step on the longest batch needs {megabytes(needed)}, but only {megabytes(room)} "
            f"are free {where}.",
            facts=[
                Fact("longest batch", f"{rows} rows x {tokens} tokens"),
                Fact("activations", megabytes(memory.activations)),
                Fact("gradients and optimizer", megabytes(memory.gradients + memory.optimizer)),
            ],
            fixes=[
                *([Fix(f"Pack fewer tokens:  --pack-tokens {tokens // 2}")] if packed else []),
                *(
                    [Fix(f"Use smaller batches:  --batch-size {fits} --accumulate {rows // fits}")]
                    if fits < rows
                    else []
                ),
                Fix("Recompute activations to save memory:  --gradient-checkpointing"),
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
        fixes=[
            Fix("Try `--precision fp32`. If the loss stays so, the model's weights are damaged.")
        ],
    )


def _no_gradient(loss: float, trained: list[nn.Parameter]) -> Any:
    return NO_GRADIENT.finding(
        Place("model"),
        f"The loss ({loss:.4f}) gives none of the {len(trained)} trainable tensors a gradient.",
        why="The loss does not depend on them, so no optimizer step would change them.",
        fixes=[Fix("Choose layers that the model uses:  --lora-targets all-linear")],
    )


def _letters(text: str) -> str:
    """Without white space and case, which some tokenizers do not keep."""
    return "".join(text.split()).casefold()
