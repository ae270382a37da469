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
    """A student learns from a dense or mixture-of-experts teacher."""

    teacher_model: Annotated[str, Parameter(alias="--teacher")] = "embedded-teacher"
    """A hub name, a folder, a GGUF file, `smollm2`, or `embedded-teacher`."""

    student_model: Annotated[str, Parameter(alias="--student")] = "embedded-student"
    """The same for the student, which is trained whole; it must have the teacher's tokenizer."""

    data: str = "embedded-text"
    """Rows as for `surefit sft`, of whose answers alone the loss is taken, or plain texts: a
    `.txt` file, or rows with a column `text`."""

    text_field: str = "text"
    """The column that holds plain texts."""

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
    """Which tokens of rows the loss sees: the answers alone, or everything."""

    held_out: float = 0.1
    """The share of rows to evaluate on; rounded to whole rows."""

    eval_data: Annotated[str | None, Parameter(alias="--validation-data")] = None
    """Rows to evaluate on, in place of held-out ones; rows of `data` with a twin among them are not
    trained on."""

    augmentation_factor: int = 1
    """How many times as many rows to train on; the added ones carry spelling noise."""

    augment_with: str | None = None
    """Your own augmentation, `module:function`; it is given a row's input, its target and a
    `random.Random`, and gives back the new input."""

    skip_bad_rows: bool = False
    """Go on without rows that cannot be used, and count them, instead of refusing."""

    max_tokens: Annotated[int, Parameter(alias="--max-seq-length")] = 256
    """The longest row, in tokens; a longer text becomes several rows."""

    pad_token: str | None = None
    """The token to fill batches with, for models that name none; it is masked everywhere."""

    trust_remote_code: bool = False
    """Run the Python code that some models on the hub bring with them."""

    out: Annotated[Path | None, Parameter(alias="--output-dir")] = None
    """The run folder to make; by default the next free `runs/distill-N`."""

    resume: Path | None = None
    """A run folder to resume, under the settings it was started with."""

    steps: Annotated[int, Parameter(alias=("--train-steps", "--max-steps"))] = 600
    """Batches to learn from, each in one or several updates of the student."""

    updates: Annotated[int | None, Parameter(alias="--M")] = None
    """Updates of the student on each batch: 1, and 2 with `--router ka`, where each has a teacher
    of its own."""

    batch_size: int = 16
    """Rows in a batch."""

    accumulate: Annotated[int, Parameter(alias="--gradient-accumulation-steps")] = 1
    """Batches to an optimizer step; their gradients are weighed by tokens."""

    rows_per_step: int | None = None
    """Rows to an optimizer step over all processes; by default batch size times accumulated
    batches times processes. A run that goes on with other processes keeps it."""

    learning_rate: Annotated[float | None, Parameter(alias=("--student-lr", "--lr"))] = None
    """The student's highest learning rate; by default the model's own, or 5e-5."""

    warmup: float = 0.05
    """The share of steps over which the learning rate rises; then it falls linearly to 0."""

    weight_decay: float = 0.0
    """Decay of the student's weights, as in AdamW."""

    max_grad_norm: float = 1.0
    """Gradients longer than this are shortened to it."""

    objective: Objective | None = None
    """The divergence between teacher and student: `forward-kl`, and `reverse-kl` with a router."""

    temperature: float | None = None
    """Both distributions are taken at it, and the divergence is multiplied by its square: 2, and 1
    with a router."""

    alpha: Annotated[float | None, Parameter(alias="--alpha-kd")] = None
    """The share of the divergence in the loss, cross entropy having the rest: 0.5, and 1 with a
    router. 0 is plain training, without a teacher's part in it."""

    mixture: float = 0.5
    """Of `jsd`: how much of the mixture that both are compared with is the teacher's."""

    skew: float = 0.1
    """Of the skewed forms: how much of the first distribution is mixed into the second."""

    on_policy: float | None = None
    """The share of batches whose answers the student writes itself: 0, and 1 with a router."""

    max_new_tokens: int | None = None
    """The longest answer that the student writes; by default as long as the longest of the rows."""

    router: Router = "none"
    """For a mixture of experts: `sar` trains the teacher's routers for this student before each of
    its updates, with all experts active; `ka` leaves out one expert of each layer, another one in
    each update. Both are experimental."""

    router_lr: float | None = None
    """Learning rate of the routers with `sar`; by default the student's."""

    balance: Annotated[float, Parameter(alias="--beta")] = 0.01
    """Weight of the routers' even use of experts with `sar`."""

    by_chance: Annotated[float, Parameter(alias="--lambda")] = 0.05
    """With `ka`, how often the expert that a layer leaves out is drawn by its weight, in place of
    the least likely."""

    compare: bool = False
    """Train the student a second time, without the router's part and with as many updates, beside
    this run: a gain can come from the updates alone."""

    teacher_dtype: PrecisionName = "auto"
    """What the teacher's weights are held in; `auto`: the arithmetic of this run."""

    offload_teacher: Literal["none", "cpu", "disk"] = "none"
    """Where the teacher's layers wait until they are used, one after the other."""

    cache_teacher: Path | None = None
    """A folder of what the teacher says of these rows: it is made if it is not there, and the
    teacher is not loaded where it is."""

    top_k: int = 64
    """Tokens of each place whose probabilities such a folder holds; the rest is one sum."""

    evaluate_every: int = 100
    """Steps between evaluations on the held-out rows; one comes before and after training, too."""

    precision: Annotated[PrecisionName, Parameter(alias="--model-dtype")] = "auto"
    """Arithmetic of the forward pass; trained weights stay fp32. `auto`: bf16 on a GPU that has it
    and on a CPU that is measured to be faster in it, fp32 otherwise."""

    threads: int | None = None
    """CPU threads; by default 1 for models under 10 million weights, where more only wait for
    each other, and torch's own choice for larger ones."""

    gradient_checkpointing: bool = False
    """Compute the student's activations twice to hold fewer of them."""

    force: bool = False
    """Go on at a learning rate at which most weights would stay as they are."""

    save_every: int = 200
    """Steps between checkpoints; one is written after each evaluation, too."""

    log_every: int = 10
    """Steps between lines of the log when there is no terminal."""

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
    """Decides the split, the order of rows, and what is drawn by chance."""

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
