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
    """A JSONL, JSON, CSV or Parquet file, a `datasets` folder, a Hub dataset, or `embedded`."""

    model: Annotated[str, Parameter(alias="--model-name")] = "embedded"
    """A Hub model, a folder, a GGUF file, `smollm2`, or `embedded`."""

    pad_token: str | None = None
    """The padding token, for tokenizers without one; it is always masked."""

    trust_remote_code: bool = False
    """Allow models from the Hub to execute their own Python code."""

    out: Annotated[Path | None, Parameter(alias="--output-dir")] = None
    """The run folder to create; by default the next free `runs/sft-N`."""

    resume: Path | None = None
    """The run folder to resume, with the settings it was started with."""

    input_field: str = "input"
    """The column of the prompt."""

    target_field: str = "target"
    """The column of the answer."""

    numbers_as_text: bool = False
    """Read numbers in these columns as text instead of rejecting them."""

    template: str = "auto"
    """Prompt template: `plain`, `chat` (the tokenizer's chat template), `verbatim` (no template),
    or a text with `{input}`. `auto` uses `chat` for conversations, `verbatim` for `prompt` and
    `completion` rows, and `plain` otherwise."""

    loss_on: Literal["target", "all"] = "target"
    """Tokens to compute the loss on: the answers (`target`) or all tokens."""

    held_out: float = 0.1
    """Fraction of rows to hold out for validation."""

    eval_data: Annotated[str | None, Parameter(alias="--validation-data")] = None
    """Validation rows, instead of held-out rows. Rows of `data` that duplicate one of them are not
    trained on."""

    augmentation_factor: int = 1
    """Multiply the training rows by this factor; the added rows have spelling noise."""

    augment_with: str | None = None
    """Your own augmentation as `module:function`. It is called with a row's input, its target and a
    `random.Random`, and returns the new input."""

    skip_bad_rows: bool = False
    """Skip rows that cannot be used and report how many, instead of stopping."""

    max_tokens: Annotated[int, Parameter(alias="--max-seq-length")] = 512
    """Maximum tokens per row. Longer prompts are truncated on the left; answers are never cut."""

    epochs: int = 4
    """Number of passes over the training rows."""

    max_steps: int | None = None
    """Stop after this many optimizer steps, regardless of `epochs`."""

    batch_size: int = 4
    """Rows per batch."""

    accumulate: Annotated[int, Parameter(alias="--gradient-accumulation-steps")] = 1
    """Batches per optimizer step; gradients are weighted by their number of tokens."""

    rows_per_step: int | None = None
    """Rows per optimizer step over all processes; by default batch size x accumulated batches x
    processes. A run resumed with another number of processes keeps it."""

    bucket: bool = True
    """Group rows of similar length into batches, which saves padding."""

    packing: bool = False
    """Pack the rows of a step into sequences instead of padding them. Attention does not cross
    rows, so the gradients are the same."""

    pack_tokens: int | None = None
    """Maximum tokens per packed sequence; by default the length of the longest row."""

    learning_rate: Annotated[float | None, Parameter(alias="--lr")] = None
    """Peak learning rate; by default the model's recommended rate, or 2e-4."""

    warmup: float = 0.05
    """Fraction of the steps for linear warmup; afterwards the rate decays linearly to 0."""

    weight_decay: float = 0.0
    """Weight decay of AdamW."""

    max_grad_norm: float = 1.0
    """Clip the gradient to this norm."""

    lora_r: int = 16
    """LoRA rank."""

    lora_alpha: int | None = None
    """LoRA alpha; adapters are scaled by alpha / rank. By default twice the rank."""

    lora_dropout: float = 0.0
    """Dropout on the adapters' input."""

    lora_targets: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ("all-linear",)
    """Names of the layers to adapt, or `all-linear`."""

    full: bool = False
    """Train all weights instead of adapters."""

    precision: AskedPrecision = "auto"
    """Precision of the forward pass; trained weights stay fp32. `auto`: bf16 on a GPU that supports
    it and on a CPU where it is measured to be faster, else fp32."""

    threads: int | None = None
    """CPU threads. By default 1 for models with fewer than 10 million weights, for which more
    threads are slower, and torch's default for larger models."""

    load_in_4bit: bool = False
    """Quantise the frozen weights to 4 bits (QLoRA); requires bitsandbytes."""

    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory."""

    max_new_tokens: int | None = None
    """Maximum tokens to generate; by default slightly more than the longest training answer."""

    generate_batch_size: int = 50
    """Rows per batch during generation."""

    evaluate_before: bool = True
    """Also evaluate before the first step."""

    evaluate_every: int | None = None
    """Optimizer steps between additional evaluations within an epoch. The best weights are still
    chosen among those at the end of each epoch."""

    early_stopping: int | None = None
    """Stop if F1 has not improved for this many epochs."""

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

    seed: int = 0
    """Random seed of the split, the row order, the augmentation and the adapter weights."""

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
