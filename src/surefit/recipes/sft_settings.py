"""The settings of LoRA fine-tuning: its flags, its config keys and its Python arguments."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from surefit.settings import AskedPrecision, at_least, between, check

LEARNING_RATE = 2e-4
"""For a model that carries none of its own."""


@dataclass(frozen=True, kw_only=True)
class LoraSft:
    """LoRA fine-tuning on rows of `input` and `target`, or of conversations."""

    data: str = "embedded"
    """Rows: a JSONL, JSON, CSV or Parquet file, a `datasets` folder, a hub name, or `embedded`."""

    model: Annotated[str, Parameter(alias="--model-name")] = "embedded"
    """A hub name, a folder, a GGUF file, `smollm2`, or `embedded`."""

    pad_token: str | None = None
    """The token to fill batches with, for a model that names none; it is masked everywhere."""

    trust_remote_code: bool = False
    """Run the Python code that some models on the hub bring with them."""

    out: Annotated[Path | None, Parameter(alias="--output-dir")] = None
    """The run folder to make; by default the next free `runs/sft-N`."""

    resume: Path | None = None
    """A run folder to resume, under the settings it was started with."""

    input_field: str = "input"
    """The column that holds the prompt."""

    target_field: str = "target"
    """The column that holds the answer."""

    numbers_as_text: bool = False
    """Read a number in these columns as text, as `1` or `0.5`, instead of refusing it."""

    template: str = "auto"
    """How turns become text: `plain`, `chat` (the tokenizer's own), `verbatim` (as they stand), a
    text with `{input}`, or `auto`: `chat` for conversations, `verbatim` for rows of `prompt` and
    `completion`, `plain` otherwise."""

    loss_on: Literal["target", "all"] = "target"
    """Which tokens the loss sees: the answers alone, or everything."""

    held_out: float = 0.1
    """The share of rows to validate on; rounded to whole rows."""

    eval_data: Annotated[str | None, Parameter(alias="--validation-data")] = None
    """Rows to validate on, in place of held-out ones; rows of `data` with a twin among them are not
    trained on."""

    augmentation_factor: int = 1
    """How many times as many rows to train on; the added ones carry spelling noise."""

    augment_with: str | None = None
    """Your own augmentation, `module:function`; it is given a row's input, its target and a
    `random.Random`, and gives back the new input."""

    skip_bad_rows: bool = False
    """Go on without rows that cannot be used, and count them, instead of refusing."""

    max_tokens: Annotated[int, Parameter(alias="--max-seq-length")] = 512
    """The longest row, in tokens; longer prompts lose their beginning, answers lose nothing."""

    epochs: int = 4
    """How often every training row is seen."""

    max_steps: int | None = None
    """Stop after so many optimizer steps, however many epochs that is."""

    batch_size: int = 4
    """Rows in a batch."""

    accumulate: Annotated[int, Parameter(alias="--gradient-accumulation-steps")] = 1
    """Batches to an optimizer step; their gradients are weighed by tokens."""

    rows_per_step: int | None = None
    """Rows to an optimizer step over all processes; by default batch size times accumulated
    batches times processes. A run that goes on with other processes keeps it."""

    bucket: bool = True
    """Put rows of like length into one batch, which saves padding."""

    packing: bool = False
    """Lay the rows of a step end to end, blind to each other, in place of padded batches: the same
    gradients without padding."""

    pack_tokens: int | None = None
    """The most tokens that packed rows have together; by default as many as the longest row."""

    learning_rate: Annotated[float | None, Parameter(alias="--lr")] = None
    """The highest learning rate; by default the model's own, or 2e-4."""

    warmup: float = 0.05
    """The share of steps over which the learning rate rises; then it falls linearly to 0."""

    weight_decay: float = 0.0
    """Decay of the trained weights, as in AdamW."""

    max_grad_norm: float = 1.0
    """Gradients longer than this are shortened to it."""

    lora_r: int = 16
    """Rank of the adapters."""

    lora_alpha: int | None = None
    """Scale of the adapters, divided by the rank; by default twice the rank."""

    lora_dropout: float = 0.0
    """Dropout on the input of the adapters."""

    lora_targets: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ("all-linear",)
    """Names of the layers that get adapters, or `all-linear`."""

    full: bool = False
    """Train all weights, without adapters."""

    precision: AskedPrecision = "auto"
    """Arithmetic of the forward pass; trained weights stay fp32. `auto`: bf16 on a GPU that has it
    and on a CPU that is measured to be faster in it, fp32 otherwise."""

    threads: int | None = None
    """CPU threads; by default 1 for models under 10 million weights, where more only wait for
    each other, and torch's own choice for larger ones."""

    load_in_4bit: bool = False
    """Hold the frozen weights in 4 bits (QLoRA); needs bitsandbytes."""

    gradient_checkpointing: bool = False
    """Compute activations twice to hold fewer of them."""

    max_new_tokens: int | None = None
    """The longest answer to generate; by default a little more than the longest training answer."""

    generate_batch_size: int = 50
    """Rows that answer together after each epoch."""

    evaluate_before: bool = True
    """Score the held-out rows before the first step, too."""

    evaluate_every: int | None = None
    """Optimizer steps between evaluations within an epoch, beside the one after each; the best
    weights are those of an epoch's end."""

    early_stopping: int | None = None
    """Stop when F1 has not risen for so many epochs."""

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

    seed: int = 0
    """Decides the split, the order of rows, the noise and the start of the adapters."""

    @property
    def text_field(self) -> None:
        """Plain texts have no answers to learn."""

    def __post_init__(self) -> None:
        check(
            self,
            held_out=between(0.0, 1.0),
            augmentation_factor=at_least(1),
            max_tokens=at_least(8),
            epochs=at_least(1),
            max_steps=at_least(1),
            batch_size=at_least(1),
            accumulate=at_least(1),
            rows_per_step=at_least(1),
            pack_tokens=at_least(8),
            learning_rate=at_least(0.0, itself=False),
            warmup=between(0.0, 1.0),
            weight_decay=at_least(0.0),
            max_grad_norm=at_least(0.0, itself=False),
            lora_r=at_least(1),
            lora_alpha=at_least(1),
            lora_dropout=between(0.0, 1.0),
            threads=at_least(1),
            max_new_tokens=at_least(1),
            generate_batch_size=at_least(1),
            evaluate_every=at_least(1),
            early_stopping=at_least(1),
            save_every=at_least(1),
            log_every=at_least(1),
        )
