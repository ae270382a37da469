"""`surefit sft`."""

from typing import Annotated

from cyclopts import Parameter

from surefit.recipes.sft_settings import LoraSft

DEFAULTS = LoraSft()


def sft(settings: Annotated[LoraSft, Parameter(name="*")] = DEFAULTS) -> None:
    """Fine-tune a causal model with LoRA on rows of `input` and `target`.

    surefit sft                                  embedded model, a few minutes
    surefit sft --data rows.jsonl --model Qwen/Qwen3-0.6B-Base --epochs 3
    surefit sft --epochs 10 --augmentation_factor 3 --lora_r 16 --batch_size 4
    surefit sft --resume runs/sft-1
    torchrun --nproc-per-node 2 -m surefit sft   two processes share a step
    """
    from surefit.recipes.token_rows import part_rows
    from surefit.render.console import importing
    from surefit.train.first_here import first_here_then_others
    from surefit.train.one_voice import as_one_command
    from surefit.train.record import refuse_no_run
    from surefit.train.shared_work import shared_working_folder

    with as_one_command(), shared_working_folder() as work:
        # Rows first: a bad one is named in a moment, torch takes seconds to load.
        rows = None
        if settings.resume is None:
            rows = first_here_then_others(lambda: part_rows(settings, work), lambda: None)
        else:
            refuse_no_run(settings.resume, "sft")

        with importing():
            from surefit.recipes.sft import train
        from surefit.train.ranks import leave_together

        train(settings, rows, work)
        leave_together()
