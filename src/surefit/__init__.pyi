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
    """Asks a trained model one question: `surefit.ask("runs/sft-1", "Who has to pay?")`.

    The prompt is built as the rows of the training were.

    run
        The folder of a run.
    text
        The prompt, as it would stand in the `input` of a row.
    system
        The system turn, in place of the one that all training rows had; an empty one is none.

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
        A hub name, a folder, a GGUF file, `smollm2`, or `embedded-teacher`.
        (also: teacher)
    student_model: str = 'embedded-student'
        The same for the student, which is trained whole; it must have the
        teacher's tokenizer. (also: student)
    data: str | Path | Iterable[Mapping[str, Any]] | DataFrameLike | DatasetLike = 'embedded-text'
        Rows as for `surefit sft`, of whose answers alone the loss is taken, or
        plain texts: a `.txt` file, or rows with a column `text`.
    text_field: str = 'text'
        The column that holds plain texts.
    input_field: str = 'input'
        The column that holds the prompt.
    target_field: str = 'target'
        The column that holds the answer.
    numbers_as_text: bool = False
        Read a number in these columns as text, as `1` or `0.5`, instead of
        refusing it.
    template: str = 'auto'
        How turns become text: `plain`, `chat` (the tokenizer's own), `verbatim`
        (as they stand), a text with `{input}`, or `auto`: `chat` for
        conversations, `verbatim` for rows of `prompt` and `completion`, `plain`
        otherwise.
    loss_on: Literal['target', 'all'] = 'target'
        Which tokens of rows the loss sees: the answers alone, or everything.
    held_out: float = 0.1
        The share of rows to evaluate on; rounded to whole rows.
    eval_data: str | None = None
        Rows to evaluate on, in place of held-out ones; rows of `data` with a
        twin among them are not trained on. (also: validation_data)
    augmentation_factor: int = 1
        How many times as many rows to train on; the added ones carry spelling
        noise.
    augment_with: str | None = None
        Your own augmentation, `module:function`; it is given a row's input, its
        target and a `random.Random`, and gives back the new input.
    skip_bad_rows: bool = False
        Go on without rows that cannot be used, and count them, instead of
        refusing.
    max_tokens: int = 256
        The longest row, in tokens; a longer text becomes several rows. (also:
        max_seq_length)
    pad_token: str | None = None
        The token to fill batches with, for models that name none; it is masked
        everywhere.
    trust_remote_code: bool = False
        Run the Python code that some models on the hub bring with them.
    out: str | Path | None = None
        The run folder to make; by default the next free `runs/distill-N`.
        (also: output_dir)
    resume: str | Path | None = None
        A run folder to resume, under the settings it was started with.
    steps: int = 600
        Batches to learn from, each in one or several updates of the student.
        (also: train_steps, max_steps)
    updates: int | None = None
        Updates of the student on each batch: 1, and 2 with `--router ka`, where
        each has a teacher of its own. (also: M)
    batch_size: int = 16
        Rows in a batch.
    accumulate: int = 1
        Batches to an optimizer step; their gradients are weighed by tokens.
        (also: gradient_accumulation_steps)
    rows_per_step: int | None = None
        Rows to an optimizer step over all processes; by default batch size
        times accumulated batches times processes. A run that goes on with other
        processes keeps it.
    learning_rate: float | None = None
        The student's highest learning rate; by default the model's own, or
        5e-5. (also: student_lr, lr)
    warmup: float = 0.05
        The share of steps over which the learning rate rises; then it falls
        linearly to 0.
    weight_decay: float = 0.0
        Decay of the student's weights, as in AdamW.
    max_grad_norm: float = 1.0
        Gradients longer than this are shortened to it.
    objective: Literal['forward-kl', 'reverse-kl', 'jsd', 'skew-kl', 'skew-reverse-kl'] | None = None
        The divergence between teacher and student: `forward-kl`, and
        `reverse-kl` with a router.
    temperature: float | None = None
        Both distributions are taken at it, and the divergence is multiplied by
        its square: 2, and 1 with a router.
    alpha: float | None = None
        The share of the divergence in the loss, cross entropy having the rest:
        0.5, and 1 with a router. 0 is plain training, without a teacher's part
        in it. (also: alpha_kd)
    mixture: float = 0.5
        Of `jsd`: how much of the mixture that both are compared with is the
        teacher's.
    skew: float = 0.1
        Of the skewed forms: how much of the first distribution is mixed into
        the second.
    on_policy: float | None = None
        The share of batches whose answers the student writes itself: 0, and 1
        with a router.
    max_new_tokens: int | None = None
        The longest answer that the student writes; by default as long as the
        longest of the rows.
    router: Literal['none', 'sar', 'ka'] = 'none'
        For a mixture of experts: `sar` trains the teacher's routers for this
        student before each of its updates, with all experts active; `ka` leaves
        out one expert of each layer, another one in each update. Both are
        experimental.
    router_lr: float | None = None
        Learning rate of the routers with `sar`; by default the student's.
    balance: float = 0.01
        Weight of the routers' even use of experts with `sar`. (also: beta)
    by_chance: float = 0.05
        With `ka`, how often the expert that a layer leaves out is drawn by its
        weight, in place of the least likely. (also: lambda)
    compare: bool = False
        Train the student a second time, without the router's part and with as
        many updates, beside this run: a gain can come from the updates alone.
    teacher_dtype: Literal['auto', 'fp32', 'bf16', 'fp16', 'float32', 'bfloat16', 'float16'] = 'auto'
        What the teacher's weights are held in; `auto`: the arithmetic of this
        run.
    offload_teacher: Literal['none', 'cpu', 'disk'] = 'none'
        Where the teacher's layers wait until they are used, one after the
        other.
    cache_teacher: str | Path | None = None
        A folder of what the teacher says of these rows: it is made if it is not
        there, and the teacher is not loaded where it is.
    top_k: int = 64
        Tokens of each place whose probabilities such a folder holds; the rest
        is one sum.
    evaluate_every: int = 100
        Steps between evaluations on the held-out rows; one comes before and
        after training, too.
    precision: Literal['auto', 'fp32', 'bf16', 'fp16', 'float32', 'bfloat16', 'float16'] = 'auto'
        Arithmetic of the forward pass; trained weights stay fp32. `auto`: bf16
        on a GPU that has it and on a CPU that is measured to be faster in it,
        fp32 otherwise. (also: model_dtype)
    threads: int | None = None
        CPU threads; by default 1 for models under 10 million weights, where
        more only wait for each other, and torch's own choice for larger ones.
    gradient_checkpointing: bool = False
        Compute the student's activations twice to hold fewer of them.
    force: bool = False
        Go on at a learning rate at which most weights would stay as they are.
    save_every: int = 200
        Steps between checkpoints; one is written after each evaluation, too.
    log_every: int = 10
        Steps between lines of the log when there is no terminal.
    report_to: Literal['tensorboard', 'trackio', 'wandb', 'mlflow'] | Sequence[Literal['tensorboard', 'trackio', 'wandb', 'mlflow']] = ()
        Trackers that get what the run's metrics file gets.
    project: str | None = None
        The trackers' project (mlflow's experiment); by default what their own
        variables say, or `surefit`.
    run_name: str | None = None
        What trackers call the run; by default the name of its folder.
    seed: int = 0
        Decides the split, the order of rows, and what is drawn by chance.

    It gives back a `DistillReport`:

    folder: str
        The run folder.
    trained: str
        The folder of the weights to use: those with the lowest perplexity on
        held-out rows.
    steps: int
        Batches that were learned from.
    updates: int
        Steps that the student's optimizer really took.
    skipped: int
        Steps that it left out, since gradients had overflowed.
    best_step: int
        The one whose weights and figures these are.
    cross_entropy_before: float
        The student's, before the first step.
    cross_entropy: float
        The student's, at the best step.
    teacher_cross_entropy: float | None
        None where a cache stands for the teacher and does not tell it.
    divergence_before: float
        Of the student from the teacher, before the first step.
    divergence: float
        The same at the best step.
    agreement_before: float
        The share of places where both find the same token likeliest, before the
        first step.
    agreement: float
        The same at the best step.
    teacher_passes: int
        Forward passes of the teacher, in the first process. A run that was
        killed and resumed has as many as one that was not: what is done again
        is counted once.
    peak_memory: int
        In bytes, of this process.
    seconds: float
        From the beginning of the call to its end.
    training_rows: int
        Rows that were trained on.
    held_out_rows: int
        Rows that the figures are over.
    held_out_tokens: int
        Their supervised tokens.
    baseline: dict[str, Any] | None
        With `--compare`: the report of the run without the router's part.
    pace: Pace | None
        Tokens a second, and the memory that the run took.
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

    A run of `pretrain` is scored on a folder of arrays, and gives a `FeatureScore`.

    run
        The folder of a run.
    data
        Rows: a file, a folder, a hub name, `embedded`, or rows in memory.
    input_field, target_field, text_field
        The columns that hold prompts, answers and plain texts; by default the run's.
    system
        The system turn of rows that have none; by default the one that all training rows had, and
        an empty one is none.
    skip_bad_rows
        Go on without rows that cannot be used, instead of refusing.

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

    A `model` of one's own is a transformers model that takes `inputs_embeds`; a projection and a
    head are put around it, and it is trained in place.

    Settings, as `surefit pretrain --help` has them:

    data: str = 'made'
        A folder of arrays (`.npy`, safetensors, Arrow, Parquet, `.npz`, `.pt`,
        or packed), or `made`: 5000 rows of a known source. (also: data_path)
    steps: int | None = None
        Steps of each row; by default what the folder's layout file declares.
    features: int | None = None
        Features of each step; by default what the folder's layout file
        declares.
    dtype: str | None = None
        Of the stored values, by its name in NumPy.
    kind: Literal['one-hot', 'multi-hot', 'continuous'] | None = None
        What the features are, which decides the loss; by default what the data
        shows.
    out: str | Path | None = None
        The run folder to make; by default the next free `runs/pretrain-N`.
        (also: output_dir)
    resume: str | Path | None = None
        A run folder to resume, under the settings it was started with.
    batch_size: int = 64
        Rows in a batch, of each process.
    rows_per_step: int | None = None
        Rows to an optimizer step over all processes; by default batch size
        times processes. A run that goes on with other processes keeps it.
    max_memory_gb: float = 12.0
        What loading may take beside the model, in GB of private and shared
        memory.
    readers: int = 1
        Threads that read ahead.
    held_out: float = 0.1
        The share of rows to validate on; rounded to whole rows.
    epochs: int = 15
        How often every training row is seen.
    max_steps: int | None = None
        Stop after so many optimizer steps, however many epochs that is.
    causal: bool = False
        Each step from all before it, in place of masked steps from all others.
    mask: float = 0.15
        The share of steps that are masked, without `--causal`.
    encoder: str = 'auto'
        A model type of transformers, such as `bert`, or a config.json; `auto`:
        `bert`, or `llama` with `--causal`.
    hidden_size: int = 128
        Width of the encoder, where no config.json gives it.
    layers: int = 2
        Layers of the encoder, where no config.json gives them.
    heads: int = 4
        Attention heads of the encoder, where no config.json gives them.
    dropout: float = 0.0
        Dropout inside the encoder, where it has any.
    learning_rate: float = 0.002
        The highest learning rate. (also: lr)
    warmup: float = 0.05
        The share of steps over which the learning rate rises; then it falls
        linearly to 0.
    weight_decay: float = 0.01
        Decay of the trained weights, as in AdamW.
    max_grad_norm: float = 1.0
        Gradients longer than this are shortened to it.
    precision: Literal['auto', 'fp32', 'bf16', 'fp16'] = 'auto'
        Arithmetic of the forward pass; trained weights stay fp32. `auto`: bf16
        on a GPU that has it and on a CPU that is measured to be faster in it,
        fp32 otherwise.
    threads: int | None = None
        CPU threads; by default 1 for models under 10 million weights, where
        more only wait for each other, and torch's own choice for larger ones.
    seed: int = 0
        Decides the split, the order of rows, masks and first weights.
    evaluate_every: int | None = None
        Optimizer steps between evaluations within an epoch, beside the one
        after each; the best weights are those of an epoch's end.
    save_every: int = 200
        Optimizer steps between checkpoints; one is written after each epoch
        too.
    log_every: int = 25
        Optimizer steps between lines of the log when there is no terminal.
    report_to: Literal['tensorboard', 'trackio', 'wandb', 'mlflow'] | Sequence[Literal['tensorboard', 'trackio', 'wandb', 'mlflow']] = ()
        Trackers that get what the run's metrics file gets.
    project: str | None = None
        The trackers' project (mlflow's experiment); by default what their own
        variables say, or `surefit`.
    run_name: str | None = None
        What trackers call the run; by default the name of its folder.

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
    DataFrame; they are kept in the run folder. Names of the Hugging Face Trainer, TRL and Axolotl
    are taken, too, and it is said what they are here.

    Settings, as `surefit sft --help` has them:

    data: str | Path | Iterable[Mapping[str, Any]] | DataFrameLike | DatasetLike = 'embedded'
        Rows: a JSONL, JSON, CSV or Parquet file, a `datasets` folder, a hub
        name, or `embedded`.
    model: str = 'embedded'
        A hub name, a folder, a GGUF file, `smollm2`, or `embedded`. (also:
        model_name)
    pad_token: str | None = None
        The token to fill batches with, for a model that names none; it is
        masked everywhere.
    trust_remote_code: bool = False
        Run the Python code that some models on the hub bring with them.
    out: str | Path | None = None
        The run folder to make; by default the next free `runs/sft-N`. (also:
        output_dir)
    resume: str | Path | None = None
        A run folder to resume, under the settings it was started with.
    input_field: str = 'input'
        The column that holds the prompt.
    target_field: str = 'target'
        The column that holds the answer.
    numbers_as_text: bool = False
        Read a number in these columns as text, as `1` or `0.5`, instead of
        refusing it.
    template: str = 'auto'
        How turns become text: `plain`, `chat` (the tokenizer's own), `verbatim`
        (as they stand), a text with `{input}`, or `auto`: `chat` for
        conversations, `verbatim` for rows of `prompt` and `completion`, `plain`
        otherwise.
    loss_on: Literal['target', 'all'] = 'target'
        Which tokens the loss sees: the answers alone, or everything.
    held_out: float = 0.1
        The share of rows to validate on; rounded to whole rows.
    eval_data: str | None = None
        Rows to validate on, in place of held-out ones; rows of `data` with a
        twin among them are not trained on. (also: validation_data)
    augmentation_factor: int = 1
        How many times as many rows to train on; the added ones carry spelling
        noise.
    augment_with: str | None = None
        Your own augmentation, `module:function`; it is given a row's input, its
        target and a `random.Random`, and gives back the new input.
    skip_bad_rows: bool = False
        Go on without rows that cannot be used, and count them, instead of
        refusing.
    max_tokens: int = 512
        The longest row, in tokens; longer prompts lose their beginning, answers
        lose nothing. (also: max_seq_length)
    epochs: int = 4
        How often every training row is seen.
    max_steps: int | None = None
        Stop after so many optimizer steps, however many epochs that is.
    batch_size: int = 4
        Rows in a batch.
    accumulate: int = 1
        Batches to an optimizer step; their gradients are weighed by tokens.
        (also: gradient_accumulation_steps)
    rows_per_step: int | None = None
        Rows to an optimizer step over all processes; by default batch size
        times accumulated batches times processes. A run that goes on with other
        processes keeps it.
    bucket: bool = True
        Put rows of like length into one batch, which saves padding.
    packing: bool = False
        Lay the rows of a step end to end, blind to each other, in place of
        padded batches: the same gradients without padding.
    pack_tokens: int | None = None
        The most tokens that packed rows have together; by default as many as
        the longest row.
    learning_rate: float | None = None
        The highest learning rate; by default the model's own, or 2e-4. (also:
        lr)
    warmup: float = 0.05
        The share of steps over which the learning rate rises; then it falls
        linearly to 0.
    weight_decay: float = 0.0
        Decay of the trained weights, as in AdamW.
    max_grad_norm: float = 1.0
        Gradients longer than this are shortened to it.
    lora_r: int = 16
        Rank of the adapters.
    lora_alpha: int | None = None
        Scale of the adapters, divided by the rank; by default twice the rank.
    lora_dropout: float = 0.0
        Dropout on the input of the adapters.
    lora_targets: str | Sequence[str] = ('all-linear',)
        Names of the layers that get adapters, or `all-linear`.
    full: bool = False
        Train all weights, without adapters.
    precision: Literal['auto', 'fp32', 'bf16', 'fp16'] = 'auto'
        Arithmetic of the forward pass; trained weights stay fp32. `auto`: bf16
        on a GPU that has it and on a CPU that is measured to be faster in it,
        fp32 otherwise.
    threads: int | None = None
        CPU threads; by default 1 for models under 10 million weights, where
        more only wait for each other, and torch's own choice for larger ones.
    load_in_4bit: bool = False
        Hold the frozen weights in 4 bits (QLoRA); needs bitsandbytes.
    gradient_checkpointing: bool = False
        Compute activations twice to hold fewer of them.
    max_new_tokens: int | None = None
        The longest answer to generate; by default a little more than the
        longest training answer.
    generate_batch_size: int = 50
        Rows that answer together after each epoch.
    evaluate_before: bool = True
        Score the held-out rows before the first step, too.
    evaluate_every: int | None = None
        Optimizer steps between evaluations within an epoch, beside the one
        after each; the best weights are those of an epoch's end.
    early_stopping: int | None = None
        Stop when F1 has not risen for so many epochs.
    save_every: int = 200
        Optimizer steps between checkpoints; one is written after each epoch
        too.
    log_every: int = 25
        Optimizer steps between lines of the log when there is no terminal.
    report_to: Literal['tensorboard', 'trackio', 'wandb', 'mlflow'] | Sequence[Literal['tensorboard', 'trackio', 'wandb', 'mlflow']] = ()
        Trackers that get what the run's metrics file gets.
    project: str | None = None
        The trackers' project (mlflow's experiment); by default what their own
        variables say, or `surefit`.
    run_name: str | None = None
        What trackers call the run; by default the name of its folder.
    seed: int = 0
        Decides the split, the order of rows, the noise and the start of the
        adapters.

    It gives back a `Report`:

    folder: str
        The run folder.
    trained: str
        The folder of the weights to use, those of the best epoch.
    epochs: int
        Epochs that were trained.
    steps: int
        Optimizer steps.
    loss: float
        Mean over the supervised tokens of the last epoch.
    seconds: float
        From the beginning of the call to its end.
    training_rows: int
        Rows that were trained on, those that augmentation added included.
    held_out_rows: int
        Rows that answers were scored on.
    best_epoch: int
        The one whose weights these are: that with the highest F1, or the last.
    f1_before: float | None
        Mean token F1 before the first step; None where that was not measured.
    f1: float | None
        Mean token F1 after the best epoch; None where no rows are held out.
    exact_match: float | None
        The share of answers that are their target, after the best epoch.
    validation_loss_before: float | None
        Mean over the supervised tokens of the held-out rows, before the first
        step.
    validation_loss: float | None
        The same at the best epoch.
    pace: Pace | None
        Tokens a second, and the memory that the run took.
    """
    ...
