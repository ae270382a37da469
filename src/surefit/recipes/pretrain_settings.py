"""The settings of pretraining on feature sequences."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from surefit.settings import AskedPrecision, at_least, between, check

MADE = "made"
"""Rows that are made for the run, with a known source."""


@dataclass(frozen=True, kw_only=True)
class FeaturePretraining:
    """Pretraining of a transformer on feature sequences `[rows, steps, features]`."""

    data: Annotated[str, Parameter(alias="--data-path")] = MADE
    """A folder of arrays (`.npy`, safetensors, Arrow, Parquet, `.npz`, `.pt`, or packed), or
    `made`: 5000 generated rows with a known best possible loss."""

    steps: int | None = None
    """Steps per row; by default from the folder's layout file."""

    features: int | None = None
    """Features per step; by default from the folder's layout file."""

    dtype: str | None = None
    """NumPy dtype of the stored values."""

    kind: Literal["one-hot", "multi-hot", "continuous"] | None = None
    """Kind of features, which decides the loss; by default detected from the data."""

    out: Annotated[Path | None, Parameter(alias="--output-dir")] = None
    """The run folder to create; by default the next free `runs/pretrain-N`."""

    resume: Path | None = None
    """The run folder to resume, with the settings it was started with."""

    batch_size: int = 64
    """Rows per batch and process."""

    rows_per_step: int | None = None
    """Rows per optimizer step over all processes; by default batch size x processes. A run resumed
    with another number of processes keeps it."""

    max_memory_gb: float = 12.0
    """Memory limit for loading data, in GB of private and shared memory."""

    readers: int = 1
    """Number of prefetch threads."""

    held_out: float = 0.1
    """Fraction of rows to hold out for validation."""

    epochs: int = 15
    """Number of passes over the training rows."""

    max_steps: int | None = None
    """Stop after this many optimizer steps, regardless of `epochs`."""

    causal: bool = False
    """Predict each step from the steps before it, instead of masked steps from all others."""

    mask: float = 0.15
    """Fraction of steps to mask; not used with `--causal`."""

    encoder: str = "auto"
    """A transformers model type such as `bert`, or a config.json. `auto`: `bert`, or `llama` with
    `--causal`."""

    hidden_size: int = 128
    """Hidden size of the encoder, if no config.json sets it."""

    layers: int = 2
    """Number of encoder layers, if no config.json sets it."""

    heads: int = 4
    """Number of attention heads, if no config.json sets it."""

    dropout: float = 0.0
    """Dropout of the encoder."""

    learning_rate: Annotated[float, Parameter(alias="--lr")] = 2e-3
    """Peak learning rate."""

    warmup: float = 0.05
    """Fraction of the steps for linear warmup; afterwards the rate decays linearly to 0."""

    weight_decay: float = 0.01
    """Weight decay of AdamW."""

    max_grad_norm: float = 1.0
    """Clip the gradient to this norm."""

    precision: AskedPrecision = "auto"
    """Precision of the forward pass; trained weights stay fp32. `auto`: bf16 on a GPU that supports
    it and on a CPU where it is measured to be faster, else fp32."""

    threads: int | None = None
    """CPU threads. By default 1 for models with fewer than 10 million weights, for which more
    threads are slower, and torch's default for larger models."""

    seed: int = 0
    """Random seed of the split, the row order, the masks and the initial weights."""

    evaluate_every: int | None = None
    """Optimizer steps between additional evaluations within an epoch. The best weights are still
    chosen among those at the end of each epoch."""

    save_every: int = 200
    """Optimizer steps between checkpoints; one is also saved after each epoch."""

    log_every: int = 25
    """Optimizer steps between log lines, if the output is not a terminal."""

    report_to: Annotated[
        tuple[Literal["tensorboard", "trackio", "wandb", "mlflow"], ...],
        Parameter(consume_multiple=True),
    ] = ()
    """Experiment trackers to report the metrics to."""

    project: str | None = None
    """Project (in mlflow: experiment) in the trackers; by default from their environment variables,
    else `surefit`."""

    run_name: str | None = None
    """Name of the run in the trackers; by default the name of its folder."""

    def __post_init__(self) -> None:
        check(
            self,
            steps=at_least(2),
            features=at_least(1),
            batch_size=at_least(1),
            rows_per_step=at_least(1),
            max_memory_gb=at_least(0, itself=False),
            readers=at_least(0),
            held_out=between(0.0, 0.5),
            epochs=at_least(1),
            max_steps=at_least(1),
            mask=between(0.0, 0.9),
            hidden_size=at_least(1),
            layers=at_least(1),
            heads=at_least(1),
            dropout=between(0.0, 0.9),
            learning_rate=at_least(0, itself=False),
            warmup=between(0.0, 1.0),
            weight_decay=at_least(0),
            max_grad_norm=at_least(0, itself=False),
            threads=at_least(1),
            evaluate_every=at_least(1),
            log_every=at_least(1),
            save_every=at_least(1),
        )
