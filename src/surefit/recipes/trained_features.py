"""A pretrained model of features, scored on a folder of arrays."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from surefit.data.features.layout import Kind
from surefit.data.features.loaders import rows_in_order
from surefit.losses.features import FeatureLoss, Objective, step_hits, step_losses
from surefit.models.chatter import without_chatter
from surefit.models.features import FeatureModel, around
from surefit.models.lora import count_trainable
from surefit.render.console import progress
from surefit.settings import from_names
from surefit.train.device import choose_threads, make_accelerator
from surefit.train.ranks import Ranks
from surefit.train.record import RunFolder

from .pretrain_settings import FeaturePretraining
from .pretrain_steps import Supervision

PRECISION = "fp32"


@dataclass(frozen=True, slots=True)
class FeatureScore:
    """Means over the supervised steps of all rows of a folder."""

    loss: float
    """Mean under the objective of the run."""

    accuracy: float | None
    """Fraction of steps whose most likely feature is correct; for multi-hot rows, fraction of
    correct features; None for continuous rows."""

    rows: int
    """Number of rows."""

    steps: int
    """Number of supervised steps."""

    objective: str
    """The name of the loss."""


@torch.no_grad()
def score_features(run: Path, data: Path) -> FeatureScore:
    """The trained model of a run of `surefit pretrain` on all rows of a folder."""
    folder = RunFolder(run, "pretrain")
    settings = from_names(FeaturePretraining, folder.read_settings())
    with without_chatter():
        model: Any = FeatureModel.from_pretrained(str(folder.trained()))
    model.eval()
    choose_threads(settings.threads, count_trainable(model).all)
    rows_per_step = settings.rows_per_step or settings.batch_size
    layout = model.config.layout
    loader, shards, kind = rows_in_order(
        data,
        rows_per_step,
        max_memory_gb=settings.max_memory_gb,
        steps=layout.steps,
        features=layout.features,
        kind=settings.kind,
    )
    around(model, shards.layout, kind, causal=settings.causal)
    objective = Objective(Kind(model.config.kind), settings.causal)
    accelerator = make_accelerator(PRECISION)
    loss_of = FeatureLoss(model, objective).to(accelerator.device)
    supervision = Supervision(
        objective, settings.mask, settings.seed, rows_per_step, accelerator, Ranks()
    )
    total, hits, places = 0.0, 0.0, 0
    with progress("Scoring rows", len(loader)) as bar:
        for step, batch in enumerate(loader):
            given = supervision.held_out(batch, step)
            places += supervision.places(given)
            given.pop("places")
            said, targets = loss_of.said_and_targets(**given)
            total += float(step_losses(said, targets, objective.kind).sum())
            right = step_hits(said, targets, objective.kind)
            hits += 0.0 if right is None else float(right.sum())
            bar.step()
    accuracy = None if objective.kind is Kind.CONTINUOUS else hits / places
    return FeatureScore(total / places, accuracy, shards.rows, places, str(objective))
