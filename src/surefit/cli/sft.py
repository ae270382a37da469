"""`surefit sft`."""

from typing import Annotated

from cyclopts import Parameter

from surefit.recipes.sft_settings import LoraSft

DEFAULTS = LoraSft()


def sft(settings: Annotated[LoraSft, Parameter(name="*")] = DEFAULTS) -> None:
    """Fine-tune a causal model with LoRA on rows of `input` and `target`.

    surefit sft                                  the embedded model and rows, a few minutes
    surefit sft --data rows.jsonl --model Qwen/Qwen3-0.6B-Base --epochs 3
    surefit sft --epochs 10 --augmentation_factor 3 --lora_r 16 --batch_size 4
    surefit sft --resume runs/sft-1
    """
    from surefit.recipes.sft_rows import part_rows

    # Rows first: a bad one is named in a moment, torch takes seconds to load.
    rows = part_rows(settings) if settings.resume is None else None

    from surefit.recipes.sft import train

    train(settings, rows)
