"""Training runs you can trust."""

# Made by `python -m tools.api_stub` from the settings classes; a test holds it against them.

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from surefit.asking import ModelAnswer
from surefit.callbacks import Watch as Watch
from surefit.data.batches import PadRows as PadRows
from surefit.data.features.loaders import loaders as loaders
from surefit.data.in_memory import DataFrameLike, DatasetLike
from surefit.doctor.findings import Finding as Finding
from surefit.errors import SurefitError as SurefitError
from surefit.inspector import inspect as inspect
from surefit.projecting import projection_for as projection_for
from surefit.recipes.distill_report import DistillReport
from surefit.recipes.distill_settings import Distillation as Distillation
from surefit.recipes.pretrain_report import Pretrained
from surefit.recipes.pretrain_settings import FeaturePretraining as FeaturePretraining
from surefit.recipes.sft_settings import LoraSft as LoraSft
from surefit.recipes.trained import RunEvaluation
from surefit.recipes.trained_features import FeatureScore
from surefit.train.record import Report
from surefit.trainer import AnswerF1 as AnswerF1
from surefit.watching import check as check
from surefit.watching import watch as watch

__version__: str

__all__ = [
    "AnswerF1",
    "Distillation",
    "FeaturePretraining",
    "Finding",
    "LoraSft",
    "PadRows",
    "SurefitError",
    "Watch",
    "__version__",
    "ask",
    "check",
    "distill",
    "eval",
    "inspect",
    "loaders",
    "pretrain",
    "projection_for",
    "sft",
    "watch",
]

def ask(
    run: str | Path,
    text: str,
    *,
    system: str | None = None,
) -> ModelAnswer:
    """Sends one prompt to a trained model: `surefit.ask("runs/sft-1", "Who has to pay?")`.

    The prompt is built like the training rows.

    run
        A run folder.
    text
        The prompt, like the `input` of a row.
    system
        Replaces the system message of the training rows; an empty text removes it.

    """
    ...

def distill(
    *,
    teacher_model: str = "embedded-teacher",
    student_model: str = "embedded-student",
    data: str | Path | Iterable[Mapping[str, Any]] | DataFrameLike | DatasetLike = "embedded-text",
    text_field: str = "text",
    input_field: str = "input",
    target_field: str = "target",
    numbers_as_text: bool = False,
    template: str = "auto",
    loss_on: Literal["target", "all"] = "target",
    held_out: float = 0.1,
    eval_data: str | None = None,
    augmentation_factor: int = 1,
    augment_with: str | None = None,
    skip_bad_rows: bool = False,
    max_tokens: int = 256,
    pad_token: str | None = None,
    trust_remote_code: bool = False,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    steps: int = 600,
    updates: int | None = None,
    batch_size: int = 16,
    accumulate: int = 1,
    rows_per_step: int | None = None,
    learning_rate: float | None = None,
    warmup: float = 0.05,
    weight_decay: float = 0.0,
    max_grad_norm: float = 1.0,
    objective: Literal["forward-kl", "reverse-kl", "jsd", "skew-kl", "skew-reverse-kl"]
    | None = None,
    temperature: float | None = None,
    alpha: float | None = None,
    mixture: float = 0.5,
    skew: float = 0.1,
    on_policy: float | None = None,
    max_new_tokens: int | None = None,
    router: Literal["none", "sar", "ka"] = "none",
    router_lr: float | None = None,
    balance: float = 0.01,
    by_chance: float = 0.05,
    compare: bool = False,
    teacher_dtype: Literal[
        "auto", "fp32", "bf16", "fp16", "float32", "bfloat16", "float16"
    ] = "auto",
    offload_teacher: Literal["none", "cpu", "disk"] = "none",
    cache_teacher: str | Path | None = None,
    top_k: int = 64,
    evaluate_every: int = 100,
    precision: Literal["auto", "fp32", "bf16", "fp16", "float32", "bfloat16", "float16"] = "auto",
    threads: int | None = None,
    gradient_checkpointing: bool = False,
    force: bool = False,
    save_every: int = 200,
    log_every: int = 10,
    report_to: Literal["tensorboard", "trackio", "wandb", "mlflow"]
    | Sequence[Literal["tensorboard", "trackio", "wandb", "mlflow"]] = (),
    project: str | None = None,
    run_name: str | None = None,
    seed: int = 0,
) -> DistillReport:
    """Distils a student from a teacher, on rows or on plain texts.

    surefit.distill(teacher_model="big", student_model="small", data="texts.txt", steps=500)

    `data` can be rows in memory, as for `surefit.sft`.

    Settings, as `surefit distill --help` has them:

    teacher_model: str = 'embedded-teacher'
        A Hub model, a folder, a GGUF file, `smollm2`, or `embedded-teacher`.
        (also: teacher)
    student_model: str = 'embedded-student'
        The student, in the same forms; all its weights are trained. It must
        share the teacher's tokenizer. (also: student)
    data: str | Path | Iterable[Mapping[str, Any]] | DataFrameLike | DatasetLike = 'embedded-text'
        Rows as for `surefit sft`, with the loss on their answers, or plain
        texts: a `.txt` file, or rows with a column `text`.
    text_field: str = 'text'
        The column of plain texts.
    input_field: str = 'input'
        The column of the prompt.
    target_field: str = 'target'
        The column of the answer.
    numbers_as_text: bool = False
        Read numbers in these columns as text instead of rejecting them.
    template: str = 'auto'
        Prompt template: `plain`, `chat` (the tokenizer's chat template),
        `verbatim` (no template), or a text with `{input}`. `auto` uses `chat`
        for conversations, `verbatim` for `prompt` and `completion` rows, and
        `plain` otherwise.
    loss_on: Literal['target', 'all'] = 'target'
        Tokens to compute the loss on: the answers (`target`) or all tokens.
    held_out: float = 0.1
        Fraction of rows to hold out for evaluation.
    eval_data: str | None = None
        Evaluation rows, instead of held-out rows. Rows of `data` that duplicate
        one of them are not trained on. (also: validation_data)
    augmentation_factor: int = 1
        Multiply the training rows by this factor; the added rows have spelling
        noise.
    augment_with: str | None = None
        Your own augmentation as `module:function`. It is called with a row's
        input, its target and a `random.Random`, and returns the new input.
    skip_bad_rows: bool = False
        Skip rows that cannot be used and report how many, instead of stopping.
    max_tokens: int = 256
        Maximum tokens per row; longer texts are split into several rows. (also:
        max_seq_length)
    pad_token: str | None = None
        The padding token, for tokenizers without one; it is always masked.
    trust_remote_code: bool = False
        Allow models from the Hub to execute their own Python code.
    out: str | Path | None = None
        The run folder to create; by default the next free `runs/distill-N`.
        (also: output_dir)
    resume: str | Path | None = None
        The run folder to resume, with the settings it was started with.
    steps: int = 600
        Number of training steps, one batch each. (also: train_steps, max_steps)
    updates: int | None = None
        Student updates per batch; by default 1, or 2 with `--router ka`, which
        uses another subset of experts for each. (also: M)
    batch_size: int = 16
        Rows per batch.
    accumulate: int = 1
        Batches per optimizer step; gradients are weighted by their number of
        tokens. (also: gradient_accumulation_steps)
    rows_per_step: int | None = None
        Rows per optimizer step over all processes; by default batch size x
        accumulated batches x processes. A run resumed with another number of
        processes keeps it.
    learning_rate: float | None = None
        Peak learning rate of the student; by default the model's recommended
        rate, or 5e-5. (also: student_lr, lr)
    warmup: float = 0.05
        Fraction of the steps for linear warmup; afterwards the rate decays
        linearly to 0.
    weight_decay: float = 0.0
        Weight decay of AdamW.
    max_grad_norm: float = 1.0
        Clip the gradient to this norm.
    objective: Literal['forward-kl', 'reverse-kl', 'jsd', 'skew-kl', 'skew-reverse-kl'] | None = None
        Divergence between teacher and student; by default `forward-kl`, or
        `reverse-kl` with a router.
    temperature: float | None = None
        Temperature of both distributions; the divergence is multiplied by its
        square. By default 2, or 1 with a router.
    alpha: float | None = None
        Weight of the divergence in the loss; cross entropy has weight 1 -
        alpha. By default 0.5, or 1 with a router. 0 trains without the teacher.
        (also: alpha_kd)
    mixture: float = 0.5
        Weight of the teacher in the mixture distribution of `jsd`.
    skew: float = 0.1
        Skew of the skewed divergences: how much of the first distribution is
        mixed into the second.
    on_policy: float | None = None
        Fraction of batches with answers generated by the student (on-policy).
        By default 0, or 1 with a router.
    max_new_tokens: int | None = None
        Maximum tokens that the student generates on-policy; by default the
        length of the longest answer.
    router: Literal['none', 'sar', 'ka'] = 'none'
        For mixture-of-experts teachers: `sar` trains the teacher's routers
        before each student update, with all experts active; `ka` leaves out
        another expert of each layer in each update. Both are experimental.
    router_lr: float | None = None
        Learning rate of the routers with `sar`; by default that of the student.
    balance: float = 0.01
        Weight of the load-balancing loss with `sar`. (also: beta)
    by_chance: float = 0.05
        With `ka`: probability of sampling the expert to leave out by its
        weight, instead of leaving out the least likely. (also: lambda)
    compare: bool = False
        Also train a baseline with the same number of updates and without the
        router method, because additional updates alone can improve the student.
    teacher_dtype: Literal['auto', 'fp32', 'bf16', 'fp16', 'float32', 'bfloat16', 'float16'] = 'auto'
        Dtype of the teacher's weights; `auto`: as `precision`.
    offload_teacher: Literal['none', 'cpu', 'disk'] = 'none'
        Keep the teacher's layers on the CPU or on disk, and load each one when
        it is needed.
    cache_teacher: str | Path | None = None
        Folder for the teacher's outputs. If it does not exist, it is written;
        otherwise it is read and the teacher is not loaded.
    top_k: int = 64
        Number of token probabilities that the cache stores per position; the
        rest is summed.
    evaluate_every: int = 100
        Steps between evaluations on held-out rows; also run before and after
        training.
    precision: Literal['auto', 'fp32', 'bf16', 'fp16', 'float32', 'bfloat16', 'float16'] = 'auto'
        Precision of the forward pass; trained weights stay fp32. `auto`: bf16
        on a GPU that supports it and on a CPU where it is measured to be
        faster, else fp32. (also: model_dtype)
    threads: int | None = None
        CPU threads. By default 1 for models with fewer than 10 million weights,
        for which more threads are slower, and torch's default for larger
        models.
    gradient_checkpointing: bool = False
        Recompute the student's activations in the backward pass to save memory.
    force: bool = False
        Train even if the learning rate is too small to change most weights.
    save_every: int = 200
        Steps between checkpoints; one is also saved after each evaluation.
    log_every: int = 10
        Steps between log lines, if the output is not a terminal.
    report_to: Literal['tensorboard', 'trackio', 'wandb', 'mlflow'] | Sequence[Literal['tensorboard', 'trackio', 'wandb', 'mlflow']] = ()
        Experiment trackers to report the metrics to.
    project: str | None = None
        Project (in mlflow: experiment) in the trackers; by default from their
        environment variables, else `surefit`.
    run_name: str | None = None
        Name of the run in the trackers; by default the name of its folder.
    seed: int = 0
        Random seed of the split, the row order and all sampling.

    It gives back a `DistillReport`:

    folder: str
        The run folder.
    trained: str
        The folder of the best weights: those with the lowest perplexity on
        held-out rows.
    steps: int
        Number of training steps.
    updates: int
        Updates that the student's optimizer applied.
    skipped: int
        Updates that the gradient scaler skipped because gradients overflowed.
    best_step: int
        The step of the best weights.
    cross_entropy_before: float
        Of the student, before training.
    cross_entropy: float
        Of the student, at the best step.
    teacher_cross_entropy: float | None
        Of the teacher; None if it is unknown because a cache replaces the
        teacher.
    divergence_before: float
        Of the student from the teacher, before training.
    divergence: float
        The same at the best step.
    agreement_before: float
        Fraction of positions where both predict the same token, before
        training.
    agreement: float
        The same at the best step.
    teacher_passes: int
        Forward passes of the teacher in the first process. Passes that are
        repeated after a resume are counted once.
    peak_memory: int
        Bytes, of this process.
    seconds: float
        Duration of the call.
    training_rows: int
        Number of training rows.
    held_out_rows: int
        Number of held-out rows.
    held_out_tokens: int
        Supervised tokens of the held-out rows.
    baseline: dict[str, Any] | None
        With `--compare`: the report of the baseline without the router method.
    pace: Pace | None
        Tokens per second and peak memory.
    """
    ...

def eval(
    run: str | Path,
    data: str | Path | Iterable[Mapping[str, Any]] | DataFrameLike | DatasetLike,
    *,
    input_field: str | None = None,
    target_field: str | None = None,
    text_field: str | None = None,
    system: str | None = None,
    skip_bad_rows: bool = False,
) -> RunEvaluation | FeatureScore:
    """Scores a trained model: `surefit.eval("runs/sft-1", "held-out.jsonl").score.f1`.

    A run of `pretrain` is scored on a folder of arrays and returns a `FeatureScore`.

    run
        A run folder.
    data
        Rows: a file, a folder, a Hub dataset, `embedded`, or rows in memory.
    input_field, target_field, text_field
        The columns of prompts, answers and plain texts; by default as in training.
    system
        The system message for rows without one; by default that of the training rows, if they all
        had the same. An empty text means none.
    skip_bad_rows
        Skip rows that cannot be used instead of stopping.

    """
    ...

def pretrain(
    model: Any = None,
    settings: FeaturePretraining | None = None,
    *,
    data: str = "made",
    steps: int | None = None,
    features: int | None = None,
    dtype: str | None = None,
    kind: Literal["one-hot", "multi-hot", "continuous"] | None = None,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    batch_size: int = 64,
    rows_per_step: int | None = None,
    max_memory_gb: float = 12.0,
    readers: int = 1,
    held_out: float = 0.1,
    epochs: int = 15,
    max_steps: int | None = None,
    causal: bool = False,
    mask: float = 0.15,
    encoder: str = "auto",
    hidden_size: int = 128,
    layers: int = 2,
    heads: int = 4,
    dropout: float = 0.0,
    learning_rate: float = 0.002,
    warmup: float = 0.05,
    weight_decay: float = 0.01,
    max_grad_norm: float = 1.0,
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto",
    threads: int | None = None,
    seed: int = 0,
    evaluate_every: int | None = None,
    save_every: int = 200,
    log_every: int = 25,
    report_to: Literal["tensorboard", "trackio", "wandb", "mlflow"]
    | Sequence[Literal["tensorboard", "trackio", "wandb", "mlflow"]] = (),
    project: str | None = None,
    run_name: str | None = None,
) -> Pretrained:
    """Pretrains a transformer on feature sequences `[rows, steps, features]`.

    surefit.pretrain(data="arrays/", steps=30, features=12, epochs=3)

    `model` can be your own transformers model that accepts `inputs_embeds`. A projection and a head
    are added to it, and it is trained in place.

    Settings, as `surefit pretrain --help` has them:

    data: str = 'made'
        A folder of arrays (`.npy`, safetensors, Arrow, Parquet, `.npz`, `.pt`,
        or packed), or `made`: 5000 generated rows with a known best possible
        loss. (also: data_path)
    steps: int | None = None
        Steps per row; by default from the folder's layout file.
    features: int | None = None
        Features per step; by default from the folder's layout file.
    dtype: str | None = None
        NumPy dtype of the stored values.
    kind: Literal['one-hot', 'multi-hot', 'continuous'] | None = None
        Kind of features, which decides the loss; by default detected from the
        data.
    out: str | Path | None = None
        The run folder to create; by default the next free `runs/pretrain-N`.
        (also: output_dir)
    resume: str | Path | None = None
        The run folder to resume, with the settings it was started with.
    batch_size: int = 64
        Rows per batch and process.
    rows_per_step: int | None = None
        Rows per optimizer step over all processes; by default batch size x
        processes. A run resumed with another number of processes keeps it.
    max_memory_gb: float = 12.0
        Memory limit for loading data, in GB of private and shared memory.
    readers: int = 1
        Number of prefetch threads.
    held_out: float = 0.1
        Fraction of rows to hold out for validation.
    epochs: int = 15
        Number of passes over the training rows.
    max_steps: int | None = None
        Stop after this many optimizer steps, regardless of `epochs`.
    causal: bool = False
        Predict each step from the steps before it, instead of masked steps from
        all others.
    mask: float = 0.15
        Fraction of steps to mask; not used with `--causal`.
    encoder: str = 'auto'
        A transformers model type such as `bert`, or a config.json. `auto`:
        `bert`, or `llama` with `--causal`.
    hidden_size: int = 128
        Hidden size of the encoder, if no config.json sets it.
    layers: int = 2
        Number of encoder layers, if no config.json sets it.
    heads: int = 4
        Number of attention heads, if no config.json sets it.
    dropout: float = 0.0
        Dropout of the encoder.
    learning_rate: float = 0.002
        Peak learning rate. (also: lr)
    warmup: float = 0.05
        Fraction of the steps for linear warmup; afterwards the rate decays
        linearly to 0.
    weight_decay: float = 0.01
        Weight decay of AdamW.
    max_grad_norm: float = 1.0
        Clip the gradient to this norm.
    precision: Literal['auto', 'fp32', 'bf16', 'fp16'] = 'auto'
        Precision of the forward pass; trained weights stay fp32. `auto`: bf16
        on a GPU that supports it and on a CPU where it is measured to be
        faster, else fp32.
    threads: int | None = None
        CPU threads. By default 1 for models with fewer than 10 million weights,
        for which more threads are slower, and torch's default for larger
        models.
    seed: int = 0
        Random seed of the split, the row order, the masks and the initial
        weights.
    evaluate_every: int | None = None
        Optimizer steps between additional evaluations within an epoch. The best
        weights are still chosen among those at the end of each epoch.
    save_every: int = 200
        Optimizer steps between checkpoints; one is also saved after each epoch.
    log_every: int = 25
        Optimizer steps between log lines, if the output is not a terminal.
    report_to: Literal['tensorboard', 'trackio', 'wandb', 'mlflow'] | Sequence[Literal['tensorboard', 'trackio', 'wandb', 'mlflow']] = ()
        Experiment trackers to report the metrics to.
    project: str | None = None
        Project (in mlflow: experiment) in the trackers; by default from their
        environment variables, else `surefit`.
    run_name: str | None = None
        Name of the run in the trackers; by default the name of its folder.

    It gives back a `Pretrained`:

    model: Any
        The trained model, with the weights of its best epoch.
    train_loss: float
        Mean over the supervised steps of the epoch whose weights these are:
        that with the lowest loss on held-out rows, or the last where none are
        held out.
    validation_loss: float | None
        Mean over those of the held-out rows after it; None where none are held
        out.
    seconds_per_epoch: float
        Of the epochs that this call trained, evaluation included.
    """
    ...

def sft(
    *,
    data: str | Path | Iterable[Mapping[str, Any]] | DataFrameLike | DatasetLike = "embedded",
    model: str = "embedded",
    pad_token: str | None = None,
    trust_remote_code: bool = False,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    input_field: str = "input",
    target_field: str = "target",
    numbers_as_text: bool = False,
    template: str = "auto",
    loss_on: Literal["target", "all"] = "target",
    held_out: float = 0.1,
    eval_data: str | None = None,
    augmentation_factor: int = 1,
    augment_with: str | None = None,
    skip_bad_rows: bool = False,
    max_tokens: int = 512,
    epochs: int = 4,
    max_steps: int | None = None,
    batch_size: int = 4,
    accumulate: int = 1,
    rows_per_step: int | None = None,
    bucket: bool = True,
    packing: bool = False,
    pack_tokens: int | None = None,
    learning_rate: float | None = None,
    warmup: float = 0.05,
    weight_decay: float = 0.0,
    max_grad_norm: float = 1.0,
    lora_r: int = 16,
    lora_alpha: int | None = None,
    lora_dropout: float = 0.0,
    lora_targets: str | Sequence[str] = ("all-linear",),
    full: bool = False,
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto",
    threads: int | None = None,
    load_in_4bit: bool = False,
    gradient_checkpointing: bool = False,
    max_new_tokens: int | None = None,
    generate_batch_size: int = 50,
    evaluate_before: bool = True,
    evaluate_every: int | None = None,
    early_stopping: int | None = None,
    save_every: int = 200,
    log_every: int = 25,
    report_to: Literal["tensorboard", "trackio", "wandb", "mlflow"]
    | Sequence[Literal["tensorboard", "trackio", "wandb", "mlflow"]] = (),
    project: str | None = None,
    run_name: str | None = None,
    seed: int = 0,
) -> Report:
    """Fine-tunes a causal model on rows of prompt and answer, or on conversations.

    surefit.sft(data="rows.jsonl", model="Qwen/Qwen3-0.6B-Base", epochs=3)
    surefit.sft(data=[{"input": "...", "target": "..."}, ...])
    surefit.sft(resume="runs/sft-1")

    `data` can be rows in memory: dictionaries from a list or a generator, a `datasets.Dataset` or a
    DataFrame; they are saved in the run folder. Setting names of the Hugging Face Trainer, TRL and
    Axolotl are accepted, too.

    Settings, as `surefit sft --help` has them:

    data: str | Path | Iterable[Mapping[str, Any]] | DataFrameLike | DatasetLike = 'embedded'
        A JSONL, JSON, CSV or Parquet file, a `datasets` folder, a Hub dataset,
        or `embedded`.
    model: str = 'embedded'
        A Hub model, a folder, a GGUF file, `smollm2`, or `embedded`. (also:
        model_name)
    pad_token: str | None = None
        The padding token, for tokenizers without one; it is always masked.
    trust_remote_code: bool = False
        Allow models from the Hub to execute their own Python code.
    out: str | Path | None = None
        The run folder to create; by default the next free `runs/sft-N`. (also:
        output_dir)
    resume: str | Path | None = None
        The run folder to resume, with the settings it was started with.
    input_field: str = 'input'
        The column of the prompt.
    target_field: str = 'target'
        The column of the answer.
    numbers_as_text: bool = False
        Read numbers in these columns as text instead of rejecting them.
    template: str = 'auto'
        Prompt template: `plain`, `chat` (the tokenizer's chat template),
        `verbatim` (no template), or a text with `{input}`. `auto` uses `chat`
        for conversations, `verbatim` for `prompt` and `completion` rows, and
        `plain` otherwise.
    loss_on: Literal['target', 'all'] = 'target'
        Tokens to compute the loss on: the answers (`target`) or all tokens.
    held_out: float = 0.1
        Fraction of rows to hold out for validation.
    eval_data: str | None = None
        Validation rows, instead of held-out rows. Rows of `data` that duplicate
        one of them are not trained on. (also: validation_data)
    augmentation_factor: int = 1
        Multiply the training rows by this factor; the added rows have spelling
        noise.
    augment_with: str | None = None
        Your own augmentation as `module:function`. It is called with a row's
        input, its target and a `random.Random`, and returns the new input.
    skip_bad_rows: bool = False
        Skip rows that cannot be used and report how many, instead of stopping.
    max_tokens: int = 512
        Maximum tokens per row. Longer prompts are truncated on the left;
        answers are never cut. (also: max_seq_length)
    epochs: int = 4
        Number of passes over the training rows.
    max_steps: int | None = None
        Stop after this many optimizer steps, regardless of `epochs`.
    batch_size: int = 4
        Rows per batch.
    accumulate: int = 1
        Batches per optimizer step; gradients are weighted by their number of
        tokens. (also: gradient_accumulation_steps)
    rows_per_step: int | None = None
        Rows per optimizer step over all processes; by default batch size x
        accumulated batches x processes. A run resumed with another number of
        processes keeps it.
    bucket: bool = True
        Group rows of similar length into batches, which saves padding.
    packing: bool = False
        Pack the rows of a step into sequences instead of padding them.
        Attention does not cross rows, so the gradients are the same.
    pack_tokens: int | None = None
        Maximum tokens per packed sequence; by default the length of the longest
        row.
    learning_rate: float | None = None
        Peak learning rate; by default the model's recommended rate, or 2e-4.
        (also: lr)
    warmup: float = 0.05
        Fraction of the steps for linear warmup; afterwards the rate decays
        linearly to 0.
    weight_decay: float = 0.0
        Weight decay of AdamW.
    max_grad_norm: float = 1.0
        Clip the gradient to this norm.
    lora_r: int = 16
        LoRA rank.
    lora_alpha: int | None = None
        LoRA alpha; adapters are scaled by alpha / rank. By default twice the
        rank.
    lora_dropout: float = 0.0
        Dropout on the adapters' input.
    lora_targets: str | Sequence[str] = ('all-linear',)
        Names of the layers to adapt, or `all-linear`.
    full: bool = False
        Train all weights instead of adapters.
    precision: Literal['auto', 'fp32', 'bf16', 'fp16'] = 'auto'
        Precision of the forward pass; trained weights stay fp32. `auto`: bf16
        on a GPU that supports it and on a CPU where it is measured to be
        faster, else fp32.
    threads: int | None = None
        CPU threads. By default 1 for models with fewer than 10 million weights,
        for which more threads are slower, and torch's default for larger
        models.
    load_in_4bit: bool = False
        Quantise the frozen weights to 4 bits (QLoRA); requires bitsandbytes.
    gradient_checkpointing: bool = False
        Recompute activations in the backward pass to save memory.
    max_new_tokens: int | None = None
        Maximum tokens to generate; by default slightly more than the longest
        training answer.
    generate_batch_size: int = 50
        Rows per batch during generation.
    evaluate_before: bool = True
        Also evaluate before the first step.
    evaluate_every: int | None = None
        Optimizer steps between additional evaluations within an epoch. The best
        weights are still chosen among those at the end of each epoch.
    early_stopping: int | None = None
        Stop if F1 has not improved for this many epochs.
    save_every: int = 200
        Optimizer steps between checkpoints; one is also saved after each epoch.
    log_every: int = 25
        Optimizer steps between log lines, if the output is not a terminal.
    report_to: Literal['tensorboard', 'trackio', 'wandb', 'mlflow'] | Sequence[Literal['tensorboard', 'trackio', 'wandb', 'mlflow']] = ()
        Experiment trackers to report the metrics to.
    project: str | None = None
        Project (in mlflow: experiment) in the trackers; by default from their
        environment variables, else `surefit`.
    run_name: str | None = None
        Name of the run in the trackers; by default the name of its folder.
    seed: int = 0
        Random seed of the split, the row order, the augmentation and the
        adapter weights.

    It gives back a `Report`:

    folder: str
        The run folder.
    trained: str
        The folder of the weights of the best epoch.
    epochs: int
        Number of epochs.
    steps: int
        Number of optimizer steps.
    loss: float
        Mean over the supervised tokens of the last epoch.
    seconds: float
        Duration of the call.
    training_rows: int
        Number of training rows, including augmented rows.
    held_out_rows: int
        Number of held-out rows.
    best_epoch: int
        The epoch with the highest F1, or the last one.
    f1_before: float | None
        Mean token F1 before training; None if not measured.
    f1: float | None
        Mean token F1 after the best epoch; None if no rows are held out.
    exact_match: float | None
        Fraction of answers equal to their target, after the best epoch.
    validation_loss_before: float | None
        Mean over the supervised tokens of the held-out rows, before training.
    validation_loss: float | None
        The same at the best epoch.
    pace: Pace | None
        Tokens per second and peak memory.
    """
    ...
