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
    `made`: 5000 rows of a known source."""

    steps: int | None = None
    """Steps of each row; by default what the folder's layout file declares."""

    features: int | None = None
    """Features of each step; by default what the folder's layout file declares."""

    dtype: str | None = None
    """Of the stored values, by its name in NumPy."""

    kind: Literal["one-hot", "multi-hot", "continuous"] | None = None
    """What the features are, which decides the loss; by default what the data shows."""

    out: Annotated[Path | None, Parameter(alias="--output-dir")] = None
    """The run folder to make; by default the next free `runs/pretrain-N`."""

    resume: Path | None = None
    """A run folder to resume, under the settings it was started with."""

    batch_size: int = 64
    """Rows in a batch, of each process."""

    rows_per_step: int | None = None
    """Rows to an optimizer step over all processes; by default batch size times processes. A run
    that goes on with other processes keeps it."""

    max_memory_gb: float = 12.0
    """What loading may take beside the model, in GB of private and shared memory."""

    readers: int = 1
    """Threads that read ahead."""

    held_out: float = 0.1
    """The share of rows to validate on; rounded to whole rows."""

    epochs: int = 15
    """How often every training row is seen."""

    max_steps: int | None = None
    """Stop after so many optimizer steps, however many epochs that is."""

    causal: bool = False
    """Each step from all before it, in place of masked steps from all others."""

    mask: float = 0.15
    """The share of steps that are masked, without `--causal`."""

    encoder: str = "auto"
    """A model type of transformers, such as `bert`, or a config.json; `auto`: `bert`, or `llama`
    with `--causal`."""

    hidden_size: int = 128
    """Width of the encoder, where no config.json gives it."""

    layers: int = 2
    """Layers of the encoder, where no config.json gives them."""

    heads: int = 4
    """Attention heads of the encoder, where no config.json gives them."""

    dropout: float = 0.0
    """Dropout inside the encoder, where it has any."""

    learning_rate: Annotated[float, Parameter(alias="--lr")] = 2e-3
    """The highest learning rate."""

    warmup: float = 0.05
    """The share of steps over which the learning rate rises; then it falls linearly to 0."""

    weight_decay: float = 0.01
    """Decay of the trained weights, as in AdamW."""

    max_grad_norm: float = 1.0
    """Gradients longer than this are shortened to it."""

    precision: AskedPrecision = "auto"
    """Arithmetic of the forward pass; trained weights stay fp32. `auto`: bf16 on a GPU that has it
    and on a CPU that is measured to be faster in it, fp32 otherwise."""

    threads: int | None = None
    """CPU threads; by default 1 for models under 10 million weights, where more only wait for
    each other, and torch's own choice for larger ones."""

    seed: int = 0
    """Decides the split, the order of rows, masks and first weights."""

    evaluate_every: int | None = None
    """Optimizer steps between evaluations within an epoch, beside the one after each; the best
    weights are those of an epoch's end."""

    save_every: int = 200
    """Optimizer steps between checkpoints; one is written after each epoch too."""

    log_every: int = 25
    """Optimizer steps between lines of the log when there is no terminal."""

    report_to: Annotated[
        tuple[Literal["tensorboard", "trackio", "wandb", "mlflow"], ...],
        Parameter(consume_multiple=True),
    ] = ()
    """Trackers that get what the run's metrics file gets."""

    project: str | None = None
    """The trackers' project (mlflow's experiment); by default what their own variables say, or
    `surefit`."""

    run_name: str | None = None
    """What trackers call the run; by default the name of its folder."""

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
