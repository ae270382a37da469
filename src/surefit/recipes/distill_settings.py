"""The settings of distillation: its flags, its config keys and its Python arguments."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from surefit.settings import AskedPrecision, at_least, between, check

LEARNING_RATE = 5e-5
"""For a student that carries none of its own."""

Router = Literal["none", "sar", "ka"]
Objective = Literal["forward-kl", "reverse-kl", "jsd", "skew-kl", "skew-reverse-kl"]
PrecisionName = Literal["auto", "fp32", "bf16", "fp16", "float32", "bfloat16", "float16"]
PRECISIONS: dict[PrecisionName, AskedPrecision] = {
    "auto": "auto",
    "fp32": "fp32",
    "bf16": "bf16",
    "fp16": "fp16",
    "float32": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
}
"""As torch calls them -> as surefit does."""


@dataclass(frozen=True, kw_only=True)
class Distillation:
    """Distillation of a student from a dense or mixture-of-experts teacher."""

    teacher_model: Annotated[str, Parameter(alias="--teacher")] = "embedded-teacher"
    """A Hub model, a folder, a GGUF file, `smollm2`, or `embedded-teacher`."""

    student_model: Annotated[str, Parameter(alias="--student")] = "embedded-student"
    """The student, in the same forms; all its weights are trained. It must share the teacher's
    tokenizer."""

    data: str = "embedded-text"
    """Rows as for `surefit sft`, with the loss on their answers, or plain texts: a `.txt` file, or
    rows with a column `text`."""

    text_field: str = "text"
    """The column of plain texts."""

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
    """Fraction of rows to hold out for evaluation."""

    eval_data: Annotated[str | None, Parameter(alias="--validation-data")] = None
    """Evaluation rows, instead of held-out rows. Rows of `data` that duplicate one of them are not
    trained on."""

    augmentation_factor: int = 1
    """Multiply the training rows by this factor; the added rows have spelling noise."""

    augment_with: str | None = None
    """Your own augmentation as `module:function`. It is called with a row's input, its target and a
    `random.Random`, and returns the new input."""

    skip_bad_rows: bool = False
    """Skip rows that cannot be used and report how many, instead of stopping."""

    max_tokens: Annotated[int, Parameter(alias="--max-seq-length")] = 256
    """Maximum tokens per row; longer texts are split into several rows."""

    pad_token: str | None = None
    """The padding token, for tokenizers without one; it is always masked."""

    trust_remote_code: bool = False
    """Allow models from the Hub to execute their own Python code."""

    out: Annotated[Path | None, Parameter(alias="--output-dir")] = None
    """The run folder to create; by default the next free `runs/distill-N`."""

    resume: Path | None = None
    """The run folder to resume, with the settings it was started with."""

    steps: Annotated[int, Parameter(alias=("--train-steps", "--max-steps"))] = 600
    """Number of training steps, one batch each."""

    updates: Annotated[int | None, Parameter(alias="--M")] = None
    """Student updates per batch; by default 1, or 2 with `--router ka`, which uses another subset
    of experts for each."""

    batch_size: int = 16
    """Rows per batch."""

    accumulate: Annotated[int, Parameter(alias="--gradient-accumulation-steps")] = 1
    """Batches per optimizer step; gradients are weighted by their number of tokens."""

    rows_per_step: int | None = None
    """Rows per optimizer step over all processes; by default batch size x accumulated batches x
    processes. A run resumed with another number of processes keeps it."""

    learning_rate: Annotated[float | None, Parameter(alias=("--student-lr", "--lr"))] = None
    """Peak learning rate of the student; by default the model's recommended rate, or 5e-5."""

    warmup: float = 0.05
    """Fraction of the steps for linear warmup; afterwards the rate decays linearly to 0."""

    weight_decay: float = 0.0
    """Weight decay of AdamW."""

    max_grad_norm: float = 1.0
    """Clip the gradient to this norm."""

    objective: Objective | None = None
    """Divergence between teacher and student; by default `forward-kl`, or `reverse-kl` with a
    router."""

    temperature: float | None = None
    """Temperature of both distributions; the divergence is multiplied by its square. By default 2,
    or 1 with a router."""

    alpha: Annotated[float | None, Parameter(alias="--alpha-kd")] = None
    """Weight of the divergence in the loss; cross entropy has weight 1 - alpha. By default 0.5, or
    1 with a router. 0 trains without the teacher."""

    mixture: float = 0.5
    """Weight of the teacher in the mixture distribution of `jsd`."""

    skew: float = 0.1
    """Skew of the skewed divergences: how much of the first distribution is mixed into the
    second."""

    on_policy: float | None = None
    """Fraction of batches with answers generated by the student (on-policy). By default 0, or 1
    with a router."""

    max_new_tokens: int | None = None
    """Maximum tokens that the student generates on-policy; by default the length of the longest
    answer."""

    router: Router = "none"
    """For mixture-of-experts teachers: `sar` trains the teacher's routers before each student
    update, with all experts active; `ka` leaves out another expert of each layer in each update.
    Both are experimental."""

    router_lr: float | None = None
    """Learning rate of the routers with `sar`; by default that of the student."""

    balance: Annotated[float, Parameter(alias="--beta")] = 0.01
    """Weight of the load-balancing loss with `sar`."""

    by_chance: Annotated[float, Parameter(alias="--lambda")] = 0.05
    """With `ka`: probability of sampling the expert to leave out by its weight, instead of leaving
    out the least likely."""

    compare: bool = False
    """Also train a baseline with the same number of updates and without the router method, because
    additional updates alone can improve the student."""

    teacher_dtype: PrecisionName = "auto"
    """Dtype of the teacher's weights; `auto`: as `precision`."""

    offload_teacher: Literal["none", "cpu", "disk"] = "none"
    """Keep the teacher's layers on the CPU or on disk, and load each one when it is needed."""

    cache_teacher: Path | None = None
    """Folder for the teacher's outputs. If it does not exist, it is written; otherwise it is read
    and the teacher is not loaded."""

    top_k: int = 64
    """Number of token probabilities that the cache stores per position; the rest is summed."""

    evaluate_every: int = 100
    """Steps between evaluations on held-out rows; also run before and after training."""

    precision: Annotated[PrecisionName, Parameter(alias="--model-dtype")] = "auto"
    """Precision of the forward pass; trained weights stay fp32. `auto`: bf16 on a GPU that supports
    it and on a CPU where it is measured to be faster, else fp32."""

    threads: int | None = None
    """CPU threads. By default 1 for models with fewer than 10 million weights, for which more
    threads are slower, and torch's default for larger models."""

    gradient_checkpointing: bool = False
    """Recompute the student's activations in the backward pass to save memory."""

    force: bool = False
    """Train even if the learning rate is too small to change most weights."""

    save_every: int = 200
    """Steps between checkpoints; one is also saved after each evaluation."""

    log_every: int = 10
    """Steps between log lines, if the output is not a terminal."""

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
    """Random seed of the split, the row order and all sampling."""

    def __post_init__(self) -> None:
        check(
            self,
            held_out=between(0.0, 0.9),
            augmentation_factor=at_least(1),
            max_tokens=at_least(8),
            steps=at_least(1),
            updates=at_least(1),
            batch_size=at_least(1),
            accumulate=at_least(1),
            rows_per_step=at_least(1),
            learning_rate=at_least(0.0, itself=False),
            warmup=between(0.0, 1.0),
            weight_decay=at_least(0.0),
            max_grad_norm=at_least(0.0, itself=False),
            temperature=at_least(0.0, itself=False),
            alpha=between(0.0, 1.0),
            mixture=between(0.0, 1.0),
            skew=between(0.0, 1.0),
            on_policy=between(0.0, 1.0),
            max_new_tokens=at_least(1),
            router_lr=at_least(0.0, itself=False),
            balance=at_least(0.0),
            by_chance=between(0.0, 1.0),
            top_k=at_least(1),
            evaluate_every=at_least(1),
            threads=at_least(1),
            save_every=at_least(1),
            log_every=at_least(1),
        )


def with_defaults(settings: Distillation, *, routed: bool) -> Distillation:
    """What was left open, settled: with a router as its papers have it."""

    def or_else(given: float | None, otherwise: float) -> float:
        return otherwise if given is None else given

    return replace(
        settings,
        objective=settings.objective or ("reverse-kl" if routed else "forward-kl"),
        temperature=or_else(settings.temperature, 1.0 if routed else 2.0),
        alpha=or_else(settings.alpha, 1.0 if routed else 0.5),
        on_policy=or_else(settings.on_policy, 1.0 if routed else 0.0),
        updates=settings.updates or (2 if routed and settings.router == "ka" else 1),
        precision=PRECISIONS[settings.precision],
        teacher_dtype=PRECISIONS[settings.teacher_dtype],
    )
