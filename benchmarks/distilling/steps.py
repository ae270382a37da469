"""Whole steps of distillation, as surefit's recipe and TRL's trainer make them.

Each function trains on the batches of a workload and tells a meter where steps begin and end.
Libraries are imported where they are used: each is measured in a process of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.distilling.step_meter import StepMeter
from benchmarks.distilling.step_workload import (
    ALPHA,
    COUNTED,
    LEARNING_RATE,
    MAX_NORM,
    NOT_COUNTED,
    ROWS,
    TEMPERATURE,
    VOCABULARY,
    StepWorkload,
)


@dataclass(frozen=True, slots=True)
class StepContender:
    """Who trains, and on what loss."""

    title: str
    contains: str
    train: Callable[[StepWorkload, StepMeter], None]
    packages: tuple[str, ...] = ()
    """Whose versions are written down beside torch's and transformers'."""


def surefit(given: StepWorkload, meter: StepMeter) -> None:
    """The recipe's updates, without its evaluations, its checkpoints and its metrics file."""
    from surefit.losses.divergence import Divergence
    from surefit.losses.places import supervised_places
    from surefit.losses.student import StudentLoss
    from surefit.recipes.distill_batches import Lesson
    from surefit.recipes.distill_report import Tally
    from surefit.recipes.distill_teacher import Teaching
    from surefit.recipes.distill_update import Updating
    from surefit.train.arithmetic import choose_products
    from surefit.train.device import make_accelerator
    from surefit.train.optimizer import adamw
    from surefit.train.ranks import ranks_of
    from surefit.train.schedule import linear_decay
    from surefit.train.teacher import Teacher

    accelerator = make_accelerator("fp32")
    teaching = Teaching(VOCABULARY, "", Teacher(given.teacher))
    divergence = Divergence("forward-kl", TEMPERATURE)
    student = StudentLoss(given.student, teaching.voice, divergence, ALPHA, VOCABULARY)
    choose_products(given.student)
    optimizer = adamw(
        given.student.parameters(), accelerator, learning_rate=LEARNING_RATE, weight_decay=0.0
    )
    schedule = linear_decay(optimizer, NOT_COUNTED + COUNTED, 0.0)
    prepared, stepper = accelerator.prepare(student, optimizer)
    given.student.train()
    update = Updating(
        accelerator,
        ranks_of(accelerator),
        student,
        prepared,
        stepper,
        schedule,
        MAX_NORM,
        Tally(),
    )
    meter.watch_memory()
    for input_ids, labels in zip(given.input_ids, given.labels, strict=True):
        meter.begin_step()
        batch = {
            "input_ids": input_ids,
            "attention_mask": torch.ones_like(input_ids),
            "labels": labels,
        }
        done = update(
            Lesson([batch], supervised_places(labels), own=False, tokens=input_ids.numel())
        )
        meter.end_step(done.divergence)


def trl_gkd(given: StepWorkload, meter: StepMeter) -> None:
    """Off-policy: with `lmbda=0` it trains on the rows; with `beta=0` its loss is KL(teacher ‖
    student)."""
    from datasets import Dataset
    from transformers import AutoTokenizer, TrainerCallback
    from trl.experimental.gkd import GKDConfig, GKDTrainer

    from surefit.embedded import MODEL

    divergences: list[float] = []

    class Watched(GKDTrainer):
        """Keeps the loss of each step."""

        def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
            loss: torch.Tensor = super().training_step(*args, **kwargs)
            divergences.append(loss.item())
            return loss

    class Watch(TrainerCallback):
        """Begins and ends the steps of the meter."""

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            meter.begin_step()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            meter.end_step(divergences[-1])

    def stacked(rows: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
        batch = {name: torch.tensor([row[name] for row in rows]) for name in rows[0]}
        return {**batch, "attention_mask": torch.ones_like(batch["input_ids"])}

    rows = {
        "input_ids": given.input_ids.flatten(0, 1).tolist(),
        "labels": given.labels.flatten(0, 1).tolist(),
    }
    settings = GKDConfig(
        output_dir="run",
        lmbda=0.0,
        beta=0.0,
        num_train_epochs=1,
        per_device_train_batch_size=ROWS,
        train_sampling_strategy="sequential",
        learning_rate=LEARNING_RATE,
        max_grad_norm=MAX_NORM,
        bf16=False,
        # surefit has none by default; with it TRL is slower and smaller.
        gradient_checkpointing=False,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
    )
    trainer = Watched(
        model=given.student,
        teacher_model=given.teacher,
        args=settings,
        data_collator=stacked,
        train_dataset=Dataset.from_dict(rows),
        # It generates nothing here, and asks the tokenizer for nothing but the token to pad with.
        processing_class=AutoTokenizer.from_pretrained(MODEL),
        callbacks=[Watch()],
    )
    meter.watch_memory()
    trainer.train()


STEPS = {
    "step-surefit": StepContender("**surefit**", "KL + CE", surefit, ("accelerate",)),
    "step-trl-gkd": StepContender("TRL GKDTrainer", "KL", trl_gkd, ("accelerate", "trl")),
}
