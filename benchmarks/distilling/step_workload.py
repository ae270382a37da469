"""What every whole step is given: a teacher, a student, and batches of tokens."""

from dataclasses import dataclass
from typing import Any

import torch

IGNORED = -100
ROWS, TOKENS, VOCABULARY, WIDTH = 4, 256, 50_257, 768
TEACHER_LAYERS, STUDENT_LAYERS = 12, 6
"""GPT-2's and DistilGPT-2's."""

NOT_COUNTED, COUNTED = 1, 3
"""Steps."""

LEARNING_RATE = 5e-5
MAX_NORM = 1.0
TEMPERATURE = 1.0
"""TRL's GKDTrainer samples at its temperature and leaves it out of its loss."""

ALPHA = 0.5


@dataclass(frozen=True, slots=True)
class StepWorkload:
    """Models with random weights; one batch for each step."""

    teacher: Any
    student: Any
    input_ids: torch.Tensor
    """`[steps, rows, tokens]`."""

    labels: torch.Tensor
    """On the tokens themselves; -100 where nothing is learned, as on the first of a row."""


def make_step_workload(share: float) -> StepWorkload:
    """The same numbers in every process; of each row the last `share` is supervised."""
    torch.manual_seed(0)
    input_ids = torch.randint(0, VOCABULARY, (NOT_COUNTED + COUNTED, ROWS, TOKENS))
    labels = input_ids.clone()
    labels[:, :, : max(1, TOKENS - int(TOKENS * share))] = IGNORED
    return StepWorkload(_gpt2(TEACHER_LAYERS), _gpt2(STUDENT_LAYERS), input_ids, labels)


def _gpt2(layers: int) -> Any:
    """Without dropout, which GKDTrainer takes out."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=WIDTH,
        n_layer=layers,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    return GPT2LMHeadModel(config)
